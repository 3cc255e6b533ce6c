"""A headless browser, driven over a pipe (its --remote-debugging-pipe) without any module, and `nvtally view` to be looked at in it."""
import json
import os
import subprocess
import sys

READY = "document.documentElement.dataset.ready&&document.documentElement.dataset.edition&&!busy&&!stale"


class Browser:
    def __init__(self, program, size, folder):
        to, self.out = os.pipe()
        self.into, back = os.pipe()
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (to, back)
        self.process = subprocess.Popen(
            ["bash", "-c", script, "-", program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + os.path.join(folder, "profile" + size), "--window-size=" + size, "about:blank"],
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
        """Until it is true, at most ten minutes: what takes longer hangs."""
        if not self.ask("new Promise(done=>{let n=0;const look=()=>{try{if(%s)return done(true)}catch{}"
                        "if(n++>12000)return done(false);setTimeout(look,50)};look()})" % script):
            sys.exit("never: " + script)

    def see(self, script, when="1"):
        """What a script is, once the page is ready, `when` is true, and it throws nothing: tiles are exchanged as files grow."""
        self.wait("%s&&%s&&(window.seen=[%s],1)" % (READY, when, script))
        return self.ask("window.seen[0]")

    def key(self, key, code, **more):
        """A key, pressed and let go; with a text what it writes."""
        for kind in ("keyDown" if more else "rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def end(self):
        self.process.kill()
        self.process.wait()


def start(nvtally, *traces):
    view = subprocess.Popen([nvtally, "view", "--no-open", *traces], stdout=subprocess.PIPE, text=True)
    return view, view.stdout.readline().strip()


def visit(browser, address):
    browser.send("Page.navigate", url="about:blank")
    browser.send("Page.navigate", url=address)
    browser.wait(READY)
