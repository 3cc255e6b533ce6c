#!/usr/bin/env python3
"""usage: drive.py BROWSER NVTALLY TRACE FOLDER: open the page of `nvtally view` in a headless browser, use it as people do, and
print what was seen, a line each. The browser is driven over a pipe (its --remote-debugging-pipe), without any module."""
import json
import os
import subprocess
import sys

BROWSER, NVTALLY, TRACE, FOLDER = sys.argv[1:5]


class Browser:
    def __init__(self, size):
        to, self.out = os.pipe()
        self.into, back = os.pipe()
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (to, back)
        self.process = subprocess.Popen(
            ["bash", "-c", script, "-", BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + os.path.join(FOLDER, "profile" + size), "--window-size=" + size, "about:blank"],
            pass_fds=(to, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.rest, self.number, self.session, self.requests = b"", 0, None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(domain + ".enable")

    def send(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = os.read(self.into, 65536)
                if not piece:
                    sys.exit("the browser has ended")
                self.rest += piece
            line, self.rest = self.rest.split(b"\0", 1)
            reply = json.loads(line)
            if reply.get("method") == "Network.requestWillBeSent":
                self.requests.append(reply["params"]["request"]["url"])
            if reply.get("id") == self.number:
                if "error" in reply:
                    sys.exit("%s: %s" % (method, reply["error"]))
                return reply["result"]

    def ask(self, script):
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit("%s: %s" % (script, result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, script):
        """Until it is true, at most a minute."""
        if not self.ask("new Promise(done=>{let n=0;const look=()=>{try{if(%s)return done(true)}catch{}"
                        "if(n++>1200)return done(false);setTimeout(look,50)};look()})" % script):
            sys.exit("never: " + script)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def end(self):
        self.process.kill()
        self.process.wait()


READY = "document.documentElement.dataset.ready&&!busy&&!stale"


def over_a_kernel(browser):
    """The name under the pointer, as the accessibility tree has it, over the middle of a kernel that is wide enough."""
    spot = browser.ask(
        "(()=>{const place=places.find(p=>all.kinds[p.lane.kind]==='operations'),list=tiles.get(place.lane.id).tracks[0];let best=0;"
        "for(let i=0;i<list.length;i+=6)if(list[i]>from&&list[i]+list[i+1]<to&&list[i+1]>list[best+1])best=i;"
        "const box=$('scroll').getBoundingClientRect();return [x(list[best]+list[best+1]/2)+box.left,"
        "place.y+8-$('scroll').scrollTop+box.top,names[0][list[best+4]]]})()")
    browser.mouse("mouseMoved", spot[0], spot[1])
    browser.wait("$('under').textContent")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    texts = [node.get("name", {}).get("value", "") for node in nodes]
    print("kernel under the pointer is in the accessibility tree:", any(text.startswith(spot[2]) and "operations" in text for text in texts))
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, spot[0], spot[1], button="left", clickCount=1)
    browser.wait("$('event').textContent.includes('launched by')")
    print("its launch is shown:", browser.ask("links.length"), browser.ask("links[0].what"))


def use(browser, address):
    browser.send("Page.navigate", url=address)
    browser.wait(READY)
    browser.wait("$('findings').dataset.ready")
    print("lanes:", browser.ask("new Set(all.lanes.map(lane=>all.kinds[lane.kind])).size"))
    before = browser.ask("location.hash")
    browser.ask("document.querySelector('#findings button').click()")
    browser.wait("$('window').dataset.ready&&" + READY)
    print("a finding leads to its moment:", before != browser.ask("location.hash"))
    over_a_kernel(browser)
    browser.ask("show(8.7e9,8.75e9);mark(8.7e9,8.75e9)")
    browser.wait("$('window').dataset.ready==='8700000000-8750000000'")
    print("iterations in the selected time:", browser.ask("[...document.querySelectorAll('#window tr')].find(r=>r.cells[0].textContent===':iteration').cells[1].textContent"))
    browser.ask("$('text').value='GEMM';$('search').requestSubmit()")
    browser.wait("$('found').dataset.ready==='GEMM'")
    print("names found:", browser.ask("document.querySelectorAll('#found button').length>5"))
    for key in ("w", "d", "ArrowRight", "ArrowDown", "Enter", "0"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        browser.wait(READY)
    print("foreign requests:", sum(not url.startswith((address, "about:", address.split("#")[0])) for url in browser.requests))
    print("foreign addresses are refused:", browser.ask("fetch('http://127.0.0.1:1/').then(()=>false,()=>true)"))


def main():
    view = subprocess.Popen([NVTALLY, "view", "--no-open", TRACE], stdout=subprocess.PIPE, text=True)
    address = view.stdout.readline().strip()
    try:
        browser = Browser("1280,800")
        use(browser, address)
        for scheme, least in (("light", True), ("dark", False)):
            browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            print(scheme + ":", (int(browser.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")) > 127) == least)
        browser.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=2, mobile=True)
        browser.wait("innerWidth===400&&side===0")
        print("fits 400 px:", browser.ask("document.documentElement.scrollWidth<=400&&$('scroll').clientHeight>200"))
        browser.end()
        print("the server outlives a killed browser:", view.poll() is None)
    finally:
        view.terminate()
        view.wait()


main()
