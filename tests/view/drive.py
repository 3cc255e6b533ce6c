#!/usr/bin/env python3
"""usage: drive.py BROWSER NVTALLY TRACE OTHER FOLDER: open the page of `nvtally view` in a headless browser, use it as people do, and
print what was seen, a line each."""
import json
import os
import shutil
import subprocess
import sys
import time

from browser import READY, Browser, start, visit

BROWSER, NVTALLY, TRACE, OTHER, FOLDER = sys.argv[1:6]


EVENTS = "all.lanes.reduce((sum,lane)=>sum+lane.events,0)"


def widest(browser, kind):
    """The middle of the widest event of a kind, on the screen, and its name."""
    return browser.see(
        "(()=>{const place=places.find(p=>all.kinds[p.lane.kind]==='" + kind + "'),list=tiles.get(place.key).tracks[0];let best=0;"
        "for(let i=0;i<list.length;i+=6)if(list[i]>from&&list[i]+list[i+1]<to&&list[i+1]>list[best+1])best=i;"
        "const box=$('scroll').getBoundingClientRect();return [x(list[best]+list[best+1]/2)+box.left,"
        "place.y+8-$('scroll').scrollTop+box.top,names[0][list[best+4]]]})()")


def click(browser, element, frame=None):
    """By the mouse, as people do; `frame`: the element is in the document of that one."""
    frames = "new Promise(done=>requestAnimationFrame(()=>requestAnimationFrame(done)))"
    browser.ask("%s.scrollIntoView({block:'center'});%s" % (element, frames))
    x, y = browser.ask("(()=>{const e=%s;const r=e.getBoundingClientRect(),f=%s;"
                       "return [r.left+r.width/2+f.left,r.top+r.height/2+f.top]})()"
                       % (element, frame + ".getBoundingClientRect()" if frame else "{left:0,top:0}"))
    browser.mouse("mouseMoved", x, y)
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)
    browser.ask(frames)


def is_in_tree(browser, is_it):
    """Whether the accessibility tree has such a name. It follows the page by and by."""
    for _ in range(600):
        nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
        if any(is_it(node.get("name", {}).get("value", "")) for node in nodes):
            return True
        time.sleep(0.1)
    return False


def over_a_kernel(browser):
    """The name under the pointer, as the accessibility tree has it, over the middle of a kernel that is wide enough."""
    spot = widest(browser, "operations")
    browser.mouse("mouseMoved", spot[0], spot[1])
    browser.wait("$('under').textContent.startsWith(%s)" % json.dumps(spot[2]))
    print("kernel under the pointer is in the accessibility tree:", is_in_tree(browser, lambda text: text.startswith(spot[2]) and "operations" in text))
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, spot[0], spot[1], button="left", clickCount=1)
    browser.wait("$('event').textContent.includes('launched by')")
    print("its launch is shown:", browser.ask("links.length"), browser.ask("links[0].what"))
    print("and its neighbours:", browser.ask("[...$('event').querySelectorAll('button')].map(b=>b.textContent.split(':')[0]).filter(t=>t==='before'||t==='after').join()"))
    browser.wait("$('tip').textContent.includes('correlation')")
    print("all is in the hover:", browser.ask("[...$('event').querySelectorAll('.fields th')].every(h=>$('tip').textContent.includes(h.textContent+': '))"))
    browser.send("Input.dispatchKeyEvent", type="keyDown", key="m", text="m")
    browser.wait("$('window').dataset.ready===chosen.start+'-'+chosen.end")
    print("its time by a key:", browser.ask("document.querySelectorAll('#window tr').length>1"))


def as_stats(browser):
    """The table of the kernels in the selected time, compared with what stats says of the same."""
    rows = subprocess.run([NVTALLY, "stats", "-r", "cuda_gpu_kern_sum", "-f", "tsv", "--filter-time", "8700000000ns/8750000000ns", TRACE], check=True,
                          capture_output=True, text=True).stdout.splitlines()[1:]
    wanted = sorted((name, count) for _, _, count, *_, name in (row.split("\t") for row in rows))
    said = browser.ask("(()=>{const h=[...document.querySelectorAll('#window h3')].find(h=>h.textContent==='Operations');"
                       "return [...h.nextElementSibling.rows].slice(1).map(r=>[r.cells[0].textContent,r.cells[1].textContent])})()")
    print("kernels of the selected time as in stats:", len(wanted) > 20 and sorted(tuple(row) for row in said if not row[0].startswith("[")) == wanted)


CONTROLS = "[...document.querySelectorAll('button,input,select,summary,[tabindex]')].filter(e=>e.checkVisibility()&&!e.disabled)"


def tab_through(browser):
    """How many controls Tab reaches, one after the other, how many there are, and whether each shows that it has the focus."""
    wanted = browser.ask("document.activeElement.blur();%s.length" % CONTROLS)
    reached, is_seen = set(), True
    for _ in range(2 * wanted + 4):  # it begins where the focus was, and the window itself has it in between
        browser.key("Tab", 9)
        place, outline = browser.ask("(()=>{const e=document.activeElement,s=getComputedStyle(e);return [%s.indexOf(e),e===document.body||"
                                     "s.outlineStyle==='solid'&&parseFloat(s.outlineWidth)>=2&&s.outlineColor!==s.backgroundColor]})()" % CONTROLS)
        is_seen = is_seen and outline
        reached.add(place)
        if len(reached - {-1}) == wanted:
            break
    return len(reached - {-1}), wanted, is_seen


def keyboard(browser):
    """Every control is reached by Tab, shows that, has a name, and works without a mouse."""
    browser.send("Accessibility.enable")
    browser.ask("choose(null);find('gemm')")
    browser.wait("$('found').dataset.ready==='gemm'")
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 400)):
        browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        browser.wait("innerWidth===%d&&(side===0)===%s" % (width, "true" if width == 400 else "false"))
        reached, wanted, is_seen = tab_through(browser)
        print("Tab reaches all of them,", scheme, str(width) + ":", reached == wanted and wanted > 15, is_seen)
    browser.send("Emulation.clearDeviceMetricsOverride")
    browser.wait("side>0")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "searchbox", "textbox", "combobox", "DisclosureTriangle", "application", "link"}
    controls = [node for node in nodes if node.get("role", {}).get("value") in roles and not node.get("ignored")]
    print("controls without a name:", sorted(node["role"]["value"] for node in controls if not node.get("name", {}).get("value")), len(controls) > 15)
    browser.ask("find('');document.querySelector('#labels button').focus()")
    before = browser.ask("places.length")
    browser.key("Enter", 13, text="\r")
    print("Enter folds lanes, and the focus stays:", browser.ask("places.length") < before, browser.ask("document.activeElement.closest('#labels')!==null"))
    browser.key("Enter", 13, text="\r")
    print("and unfolds them:", browser.ask("places.length") == before)
    browser.ask("loop();choose(null);point(null);$('scroll').focus()")
    browser.wait(READY)
    for key, code in (("ArrowDown", 40), ("ArrowRight", 39), ("Enter", 13)):
        browser.key(key, code)
    browser.wait("chosen&&$('event').querySelector('h3')")
    said = "Selected: " + browser.ask("visible(says(chosen))")
    print("what is selected is in the accessibility tree:", is_in_tree(browser, lambda text: text == said))
    browser.wait("[...$('event').querySelectorAll('button')].some(b=>/^(before|after)/.test(b.textContent))")
    browser.ask("[...$('event').querySelectorAll('button')].find(b=>/^(before|after)/.test(b.textContent)).focus()")
    name = browser.ask("[chosen.lane,chosen.row].join()")
    browser.key("Enter", 13, text="\r")
    browser.wait("[chosen.lane,chosen.row].join()!=='%s'" % name)
    browser.wait("document.activeElement.closest('#event')")
    print("a neighbour by Enter, and the focus stays:", True)
    browser.key("Escape", 27)
    print("Esc selects nothing:", browser.ask("chosen===null&&$('said').textContent==='Nothing is selected'"))


TAPS = 20  # on a busy machine a finger may be taken for one that is held, which is half a second's


def touch(browser, kind, *points):
    browser.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])


def fingers(browser):
    """A tap selects; a finger that is held shows the event; two that are held select the time between them; they pinch otherwise."""
    browser.ask("choose(null);point(null);show(...all.sides[0].loop)")
    browser.wait(READY)
    x, y, name = widest(browser, "iterations")
    for _ in range(TAPS):
        touch(browser, "touchStart", (x, y))
        touch(browser, "touchEnd")
        if browser.ask("chosen!==null"):
            break
    print("a tap selects:", browser.ask("chosen&&chosen.name") == name)
    browser.ask("choose(null);point(null)")
    touch(browser, "touchStart", (x, y))
    browser.wait("!$('tip').hidden")
    touch(browser, "touchEnd")
    print("a held finger shows the event:", browser.ask("chosen===null&&$('tip').textContent.includes('" + name + "')"))
    touch(browser, "touchStart", (100, y), (300, y))
    browser.wait("marked&&drag&&drag.held")
    before = browser.ask("location.hash")
    touch(browser, "touchMove", (120, y), (300, y))
    touch(browser, "touchEnd")
    browser.wait("$('window').dataset.ready===marked.join('-')")
    print("two held fingers select time:", browser.ask("Math.abs(x(marked[0])-120)<2&&Math.abs(x(marked[1])-300)<2") and browser.ask("location.hash") == before)
    for _ in range(TAPS):
        touch(browser, "touchStart", (100, y), (200, y))
        touch(browser, "touchMove", (100, y), (300, y))
        touch(browser, "touchEnd")
        browser.wait(READY)
        if browser.ask("location.hash") != before:
            break
    print("and pinch:", browser.ask("location.hash") != before)


def findings(browser):
    """A finding's button leads to an event of its moment, which is in sight, as are its details; the rules that looked are named."""
    browser.ask("$('findings').querySelector('button').scrollIntoView({block:'center'})")
    said = subprocess.run([NVTALLY, "diagnose", TRACE], check=True, capture_output=True, text=True).stdout
    texts = browser.ask("[...$('findings').querySelectorAll('button')].map(b=>b.textContent.replace(/^at /,''))")
    print("moments as diagnose prints them:", len(texts) > 2 and all(text in said for text in texts))
    hash = browser.ask("location.hash")
    click(browser, "$('findings').querySelector('button')")
    browser.wait("chosen&&$('event').querySelectorAll('.fields').length&&" + READY)
    print("a finding leads to an event of its moment:", hash != browser.ask("location.hash") and
          browser.ask("chosen.start===here&&chosen.start>from&&chosen.end<to&&chosen.end-chosen.start>(to-from)/10"))
    print("its details are in sight, no time is selected:", browser.ask("(()=>{const a=document.querySelector('aside').getBoundingClientRect(),e=$('event').getBoundingClientRect();"
          "return e.top>=a.top-1&&e.top<a.top+20&&e.height>50})()"), browser.ask("$('window').hidden"))
    print("the status line is about it:", browser.ask("$('under').textContent===visible(says(chosen))"))
    print("rules that looked:", browser.ask("/^\\d+ of \\d+ rules looked at iterations/.test(document.querySelector('#findings .looked').textContent)"))


def search(browser):
    """Names as one types; Enter and Shift+Enter go from event to event, and back."""
    browser.ask("choose(null);show(8.7e9,8.75e9);$('text').focus()")
    for letter in "GEMM":
        browser.key(letter, 0, text=letter)
    browser.wait("$('found').dataset.ready==='GEMM'")
    print("names found:", browser.ask("document.querySelectorAll('#found button').length>5"))
    places = []
    for shift in (0, 0, 0, 8, 8):
        before = browser.ask("$('found').dataset.place||''")
        browser.key("Enter", 13, text="\r", modifiers=shift)
        browser.wait("chosen&&$('found').dataset.place&&$('found').dataset.place!=='%s'" % before)
        places.append(browser.ask("[parseInt($('found').dataset.place.replace(/,/g,'')),chosen.start]"))
    first = places[0][0]
    print("Enter goes to the next, Shift+Enter back:", [place - first for place, _ in places], [start for _, start in places[3:]] == [places[1][1], places[0][1]],
          browser.ask("/gemm/i.test(chosen.name)&&chosen.start>from&&chosen.end<to&&document.activeElement===$('text')"))
    browser.key("Escape", 27)


def wheel(browser):
    """With Ctrl it zooms about the pointer, with Shift it moves."""
    browser.ask("show(8.7e9,8.75e9)")
    browser.wait(READY)
    here = "moment(500-$('scroll').getBoundingClientRect().left)"
    at = browser.ask(here)
    browser.mouse("mouseWheel", 500, 100, deltaX=0, deltaY=-120, modifiers=2)
    browser.wait("to-from<4.9e7")
    print("the wheel zooms about the pointer:", browser.ask("Math.abs(%s-%r)<(to-from)/500" % (here, at)))
    length, before = browser.ask("[to-from,from]")
    browser.mouse("mouseWheel", 500, 100, deltaX=0, deltaY=120, modifiers=8)
    browser.wait("from>%r" % before)
    print("and moves:", browser.ask("Math.abs(to-from-%r)<2" % length))


def use(browser, address):
    browser.send("Page.navigate", url=address)
    browser.wait(READY)
    browser.wait("$('findings').dataset.ready")
    print("lanes:", browser.ask("new Set(all.lanes.map(lane=>all.kinds[lane.kind])).size"))
    print("idle and memory are labelled:", browser.ask("[...document.querySelectorAll('#labels li')].map(l=>l.textContent).filter(l=>/idle|memory/.test(l)).join()"))
    findings(browser)
    over_a_kernel(browser)
    browser.ask("show(8.7e9,8.75e9);mark(8.7e9,8.75e9)")
    browser.wait("$('window').dataset.ready==='8700000000-8750000000'")
    print("iterations in the selected time:", browser.ask("[...document.querySelectorAll('#window tr')].find(r=>r.cells[0].textContent===':iteration').cells[1].textContent"))
    as_stats(browser)
    search(browser)
    wheel(browser)
    for key in ("w", "d", "ArrowRight", "ArrowDown", "Enter", "0"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        browser.wait(READY)
    print("foreign requests:", sum(not url.startswith((address, "about:", address.split("#")[0])) for url in browser.requests))
    print("foreign addresses are refused:", browser.ask("fetch('http://127.0.0.1:1/').then(()=>false,()=>true)"))


def at(copy, which):
    """Where an iteration of a copy begins on the page."""
    return ("(()=>{const place=places.find(p=>p.copy===%d&&all.kinds[p.lane.kind]==='iterations'),list=tiles.get(place.key).tracks[0];"
            "return %s})()" % (copy, which))


def first_x(browser, copy):
    return browser.see(at(copy, "x(list[0])"))


def compare(browser):
    """Two recordings, two iterations, two ranks: what belongs together stands at the same place."""
    browser.send("Emulation.setDeviceMetricsOverride", width=1280, height=1600, deviceScaleFactor=1, mobile=False)
    view, address = start(NVTALLY, TRACE, "vs", OTHER)
    try:
        visit(browser, address)
        print("lanes of A and B in turn:", "".join(browser.ask("places.map(p=>'AB'[p.copy])")[:8]))
        print("first iterations aligned:", abs(first_x(browser, 0) - first_x(browser, 1)) < 1)
        browser.ask("show(...all.sides[0].loop);mark(...all.sides[0].loop)")
        browser.wait("$('window').dataset.ready")
        print("iterations of A, none of the same domain in B:", browser.ask("[...document.querySelectorAll('#window td')].find(d=>d.textContent.startsWith(':iteration')).textContent"))
        print("findings of both:", browser.ask("['A: ','B: '].every(l=>[...document.querySelectorAll('#findings h3')].some(h=>h.textContent.startsWith(l)))")
              if browser.wait("$('findings').dataset.ready") is None else False)
        browser.ask("$('tie').value='begin';$('tie').onchange()")
        browser.wait(READY)
        print("aligned by their beginnings:", abs(first_x(browser, 0) - first_x(browser, 1)) > 1)
    finally:
        view.terminate()
        view.wait()
    overlay(browser)
    ranks(browser)


def overlay(browser):
    view, address = start(NVTALLY, TRACE)
    try:
        visit(browser, address)
        browser.ask("$('tie').value='longest';$('tie').onchange()")
        browser.wait(READY)
        print("median and longest iteration overlaid:", browser.see(
            "[0,1].every(copy=>{const place=places.find(p=>p.copy===copy&&all.kinds[p.lane.kind]==='iterations'),list=tiles.get(place.key).tracks[0],"
            "side=all.sides[0],length=copy?side.longest[1]-side.longest[0]:side.median[1]-side.median[0];"
            "for(let i=0;i<list.length;i+=6)if(list[i]===side.median[0])return list[i+1]===length;return false})"))
        browser.wait("$('window').dataset.ready")
        print("their lengths on the ruler:", browser.ask(
            "lengths.map(l=>l.letter).join('')==='AB'&&lengths.every((l,i)=>l.length===(i?all.sides[0].longest[1]-all.sides[0].longest[0]:all.sides[0].median[1]-all.sides[0].median[0])"
            "&&l.at-origin===l.length)&&origin===all.sides[0].median[0]"))
        print("iterations in the table:", browser.ask("[...document.querySelectorAll('#window td')].find(d=>d.textContent.startsWith(':iteration')).textContent"))
        browser.ask("$('tie').value='none';$('tie').onchange()")
        browser.wait(READY + "&&copies.length===1&&!lengths.length")
        for number in (2, 5):
            browser.see(at(0, "choose(spotOf(place,0,list,%d*6))" % number))
            browser.ask("pinned?compare():pin()")
        browser.wait(READY)
        print("chosen iterations overlaid:", browser.see(
            "[0,1].map(copy=>{const list=tiles.get(places.find(p=>p.copy===copy&&all.kinds[p.lane.kind]==='iterations').key).tracks[0];"
            "for(let i=0;i<list.length;i+=6)if(list[i]===pinned.start)return list[i+5];return -1})"
            ".every((row,copy,rows)=>row>=0&&rows[0]!==rows[1])"))
    finally:
        view.terminate()
        view.wait()


def ranks(browser):
    files = [os.path.join(FOLDER, "job.rank%d.nvt" % rank) for rank in range(2)]
    for file in files:
        shutil.copy(TRACE, file)
    view, address = start(NVTALLY, *files)
    try:
        visit(browser, address)
        # Files that are new may still grow: lanes are asked for again then.
        own = "places.filter(p=>all.kinds[p.lane.kind]==='iterations')"
        spots = browser.see(own + ".map(p=>[p.lane.trace,x(tiles.get(p.key).tracks[0][0])])", own + ".length===2")
        before = browser.ask("places.length")
        click(browser, "document.querySelectorAll('#labels button')[1]")
        print("lanes of a rank fold by the mouse:", browser.ask("places.length") < before)
        click(browser, "document.querySelectorAll('#labels button')[1]")
        print("and unfold:", browser.ask("places.length") == before)
        print("the tab and findings name both traces:", browser.ask("document.title.startsWith('job.rank0.nvt, job.rank1.nvt')"),
              browser.wait("$('findings').dataset.ready") is None and browser.ask("[...$('findings').querySelectorAll('button')].every(b=>/ of job.rank[01].nvt$/.test(b.textContent))"))
        print("ranks on one axis:", len(spots) == 2 and spots[0][1] == spots[1][1], browser.ask("[...document.querySelectorAll('#labels li.process')].filter(l=>/rank [01], process/.test(l.textContent)).length"))
    finally:
        view.terminate()
        view.wait()


def far(browser):
    """Two traces of different hours: the first one is shown, and a note leads to the other. Memory ends with its trace."""
    view, address = start(NVTALLY, TRACE, OTHER)
    try:
        visit(browser, address)
        print("the first trace is shown, not both as slivers:", browser.ask("high()-low()>1e12&&to-from<1e9&&all.spans[0][0]<=from&&to<=all.spans[0][1]"))
        print("and a note says where the other one is:", browser.ask("/^looped.nvt (begins|ends) [0-9.]+ s (after|before) what is shown/.test($('note').textContent)&&!$('note').hidden"))
        click(browser, "$('note').querySelector('button')")
        browser.wait(READY)
        print("and leads there:", browser.ask("Math.abs(from-all.spans[1][0])<2&&Math.abs(to-all.spans[1][1])<2"))
        print("memory of a trace has ended by then:", browser.ask("[all.spans[1][1]].every(at=>{const p=places.find(p=>all.kinds[p.lane.kind]==='memory'&&p.lane.trace===0),b=$('scroll').getBoundingClientRect();"
              "return p&&spotAt(b.left+side+200,b.top+p.y+10-$('scroll').scrollTop)===null})"))
    finally:
        view.terminate()
        view.wait()


def growing(browser):
    """The page follows a file that grows."""
    path = os.path.join(FOLDER, "growing.nvt")
    with open(TRACE, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:len(content) // 2])
    view, address = start(NVTALLY, path)
    try:
        visit(browser, address)
        browser.wait("document.documentElement.dataset.edition")
        print("the page says that its trace is cut:", browser.ask("/growing.nvt: .* is cut/.test($('note').textContent)&&!$('note').hidden"))
        before = browser.ask("everything();" + EVENTS)
        with open(path, "wb") as file:
            file.write(content)
        browser.wait("%s>%d&&%s&&$('note').hidden" % (EVENTS, before, READY))  # it may be read before it is whole
        print("the page grows with its trace:", browser.ask("to>=high()&&from<=low()"), browser.ask("$('note').hidden"))
    finally:
        view.terminate()
        view.wait()


def ending(browser):
    """The page says that the server has ended although nobody asks for anything, and that it is back."""
    port = None
    for _ in range(2):
        view, address = start(NVTALLY, *(["--port", port] if port else []), TRACE)
        port = address.split(":")[2].split("/")[0]
        visit(browser, address)
        browser.wait("$('findings').dataset.ready")
        view.terminate()
        view.wait()
        browser.wait("$('live').textContent==='server ended'&&!$('live').hidden&&/start nvtally view again/.test($('note').textContent)&&!$('note').hidden")
    print("the page says that the server has ended:", True)


def folding(browser):
    """A lane of many rows shows some until it is asked for all; what is searched for is shown all the same."""
    browser.ask("(()=>{const lane=all.lanes.find(l=>all.kinds[l.kind]==='ranges');lane.tracks=22;layOut()})()")
    height = "places.find(p=>all.kinds[p.lane.kind]==='ranges').height"
    before, said = browser.ask(height), browser.ask("[...document.querySelectorAll('#labels li')].some(l=>/8 of 22 rows/.test(l.textContent))")
    all_rows = "[...document.querySelectorAll('#labels button')].find(b=>/^all 22 rows/.test(b.title))"
    click(browser, all_rows)
    print("a lane of 22 rows shows 8, then all:", before, said, browser.ask(height))
    click(browser, all_rows)
    print("and unfolds for what is looked for:", browser.ask(height), browser.ask(
        "(()=>{const p=places.find(p=>all.kinds[p.lane.kind]==='ranges');reveal({lane:p.lane.id,copy:0,track:20,start:8.7e9,end:8.71e9});return %s})()" % height))


def slow(browser):
    """What is not read yet has a page that says how far it is; what cannot be read is said there, too."""
    with open(TRACE, "rb") as file:
        content = file.read()
    for text, end in ((content, True), (b"[1, 2", False)):
        path = os.path.join(FOLDER, "slow.nvt" if end else "broken.json")
        os.mkfifo(path)
        pipe = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        view, address = start(NVTALLY, path)
        try:
            browser.send("Page.navigate", url=address)
            browser.wait("document.readyState==='complete'&&$('note').textContent.startsWith('Reading: ')")
            while text:
                text = text[os.write(pipe, text):]
            os.close(pipe)
            if end:
                browser.wait(READY)
                browser.wait("$('note').hidden&&$('live').hidden")
                print("a slow file ends in its lanes:", browser.ask("new Set(all.lanes.map(l=>all.kinds[l.kind])).size"), browser.ask("$('note').hidden&&$('live').hidden"))
                print("an event stays selected when lanes have other numbers:", browser.ask(
                    "(()=>{const now=all.lanes.filter(l=>all.kinds[l.kind]!=='critical path'),i=now.length-1;chosen={lane:1000+i};"
                    "renumber(now.map((l,k)=>({...l,id:1000+k})));return chosen.lane===now[i].id&&i+1<all.lanes.length})()"))
            else:
                browser.wait("/^It cannot be read: .*event 1/.test($('note').textContent)")
                print("a broken one in one line:", browser.ask("$('findings').hidden"))
                print("and status", view.wait(60))
        finally:
            if view.poll() is None:
                view.terminate()
                view.wait()


def document(browser):
    """The page within a report: one file, opened as such."""
    path = os.path.join(FOLDER, "r.html")
    subprocess.run([NVTALLY, "report", TRACE, "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser.send("Page.navigate", url="about:blank")
    browser.wait("location.href==='about:blank'")
    browser.requests.clear()
    browser.send("Page.navigate", url="file://" + path)
    browser.wait("document.querySelector('.timeline')")
    browser.ask("document.querySelector('.timeline').scrollIntoView()")
    page = "document.querySelector('iframe').contentWindow"
    browser.wait(page + ".document.documentElement.dataset.ready")
    lanes = browser.ask(page + ".document.querySelectorAll('#labels li').length")
    click(browser, page + ".document.querySelector('#labels button')", "document.querySelector('iframe')")
    print("its lanes fold by the mouse:", browser.ask(page + ".document.querySelectorAll('#labels li').length") < lanes)
    click(browser, page + ".document.querySelector('#labels button')", "document.querySelector('iframe')")
    print("findings in the document:", browser.ask(page + ".document.querySelectorAll('#findings h3').length>0"))
    browser.ask("(()=>{const w=%s,at=JSON.parse(w.document.getElementById('data').textContent).lanes.sides[0].median;"
                "w.show(...at);w.mark(...at);w.find('gemm')})()" % page)
    browser.wait(page + ".document.getElementById('found').dataset.ready")
    rows = browser.ask("[...%s.document.querySelectorAll('#window tr')].map(r=>[...r.cells].map(c=>c.textContent))" % page)
    window = subprocess.run([NVTALLY, "sql", "-f", "tsv", TRACE, "SELECT count(*) FROM kernels k, ranges r WHERE r.name = 'iteration' AND "
                             "r.start = (SELECT start FROM ranges WHERE name = 'iteration' ORDER BY end - start LIMIT 1 OFFSET 4) "
                             "AND k.start BETWEEN r.start AND r.end"], check=True, capture_output=True, text=True).stdout.split()[-1]
    heads = [i for i, row in enumerate(rows) if row[:1] == ["name"]]
    kernels = sum(int(row[1]) for row in rows[heads[1] + 1:heads[2]] if not row[0].startswith("["))
    print("kernels of the iteration as in the trace:", kernels == int(window) and kernels > 100)
    browser.ask(page + ".mark(0,9e9)")
    browser.wait(page + ".document.getElementById('window').dataset.ready==='0-9000000000'")
    print("no figures of what is merged:", "merged" in browser.ask(page + ".document.getElementById('window').textContent"))
    flame = "document.querySelector('.flame')"
    wide = "[...%s.querySelectorAll('.boxes button')].find(b=>b.textContent==='backward').style.width" % flame
    before = browser.ask("parseFloat(%s)" % wide)
    browser.ask("[...%s.querySelectorAll('.boxes button')].find(b=>b.textContent==='backward').click()" % flame)
    print("flame graph zooms:", before < 60 and browser.ask(wide) == "100%")
    browser.ask("(()=>{const i=%s.querySelector('input');i.value='sgemm';i.oninput()})()" % flame)
    print("and is searched:", browser.ask("%s.querySelectorAll('.hit').length>2&&/ %% in \\d+ places/.test(%s.textContent)" % (flame, flame)))
    browser.ask("document.querySelector('.tree .fold').click()")
    print("rows of the tree fold:", browser.ask("[...document.querySelectorAll('.tree tbody tr')].filter(r=>!r.hidden).map(r=>r.cells[0].textContent.slice(1)).join()"))
    browser.ask("(()=>{const i=[...document.querySelectorAll('.scroll')].find(s=>s.textContent.includes('cudaLaunchKernel')).previousElementSibling.querySelector('input');"
                "i.value='launchkernel';i.oninput()})()")
    print("rows are filtered:", browser.ask("[...document.querySelectorAll('.scroll')].filter(s=>s.textContent.includes('cudaLaunchKernel')).some(s=>{"
                                          "const r=[...s.querySelectorAll('tbody tr')],shown=r.filter(x=>!x.hidden);"
                                          "return shown.length&&shown.length<r.length&&shown.every(x=>/launchkernel/i.test(x.textContent))})"))
    print("rows are sorted:", browser.ask(
        "(()=>{const t=[...document.querySelectorAll('.scroll table')].find(t=>t.textContent.includes('cudaLaunchKernel')),th=[...t.querySelectorAll('th')].pop();"
        "const names=()=>[...new Set([...t.tBodies[0].rows].map(r=>r.cells[th.cellIndex].textContent).filter(x=>/\\d/.test(x)))];th.click();const up=names();th.click();"
        "return up.length>2&&up.join('|')===names().reverse().join('|')&&th.getAttribute('aria-sort')==='descending'})()"))
    for key, code, text in (("Enter", 13, "\r"), (" ", 32, " ")):
        browser.ask("(()=>{const t=[...document.querySelectorAll('.scroll table')].find(t=>t.textContent.includes('cudaLaunchKernel'));"
                    "for(let d=t.closest('details');d;d=d.parentElement.closest('details'))d.open=true;window.th=[...t.querySelectorAll('th')].at(-2);th.focus();window.before=th.getAttribute('aria-sort')})()")
        browser.key(key, code, text=text)
        print("and by the keyboard:", browser.ask(
            "(()=>{const is=th.getAttribute('aria-sort'),v=[...th.closest('table').tBodies[0].rows].map(r=>r.cells[th.cellIndex].dataset.v).filter(x=>x).map(Number);"
            "return is!==before&&v.length>2&&v.every((x,i)=>!i||(is==='ascending'?v[i-1]<=x:v[i-1]>=x))&&document.activeElement===th})()"))
    print("the document loads:", sorted(set(url.split("/")[-1] for url in browser.requests if url.startswith(("http", "file")))))


def comparison(browser):
    """The document of a comparison: the first trace of each side, on one axis."""
    path = os.path.join(FOLDER, "c.html")
    subprocess.run([NVTALLY, "report", TRACE, "vs", TRACE, "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser.requests.clear()
    browser.send("Page.navigate", url="file://" + path)
    browser.wait("document.querySelector('.timeline')")
    browser.ask("document.querySelector('.timeline').scrollIntoView()")
    page = "document.querySelector('iframe').contentWindow"
    browser.wait(page + ".document.documentElement.dataset.ready")
    print("lanes of a compared document:", browser.ask("[...%s.document.querySelectorAll('#labels li b')].map(b=>b.textContent).join('').slice(0,8)" % page))
    browser.ask("(()=>{const w=%s,at=JSON.parse(w.document.getElementById('data').textContent).lanes.sides[0].median;w.show(...at);w.mark(...at)})()" % page)
    browser.wait(page + ".document.getElementById('window').dataset.ready")
    rows = browser.ask("[...%s.document.querySelectorAll('#window tr')].map(r=>[...r.cells].map(c=>c.textContent))" % page)
    rows = [row for row in rows if row[0] != "name"]
    print("its table of both:", len(rows) > 20 and all(row[1] == row[2] and row[3] == "0 ns" for row in rows))
    print("it loads:", sorted(set(url.split("/")[-1] for url in browser.requests if url.startswith(("http", "file")))))


def main():
    view, address = start(NVTALLY, TRACE)
    try:
        browser = Browser(BROWSER, "1280,800", FOLDER)
        use(browser, address)
        keyboard(browser)
        folding(browser)
        for scheme, least in (("light", True), ("dark", False)):
            browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            print(scheme + ":", (int(browser.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")) > 127) == least)
        browser.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=2, mobile=True)
        browser.wait("innerWidth===400&&side===0")
        print("fits 400 px:", browser.ask("document.documentElement.scrollWidth<=400&&$('scroll').clientHeight>200"))
        fingers(browser)
        compare(browser)
        far(browser)
        growing(browser)
        ending(browser)
        slow(browser)
        document(browser)
        comparison(browser)
        browser.end()
        print("the server outlives a killed browser:", view.poll() is None)
    finally:
        view.terminate()
        view.wait()


main()
