#!/usr/bin/env python3
"""usage: picture.py BROWSER NVTALLY TRACE FILE: the picture of `nvtally view` in the README (make view-picture): the median iteration, and the findings."""
import base64
import sys
import tempfile

from browser import READY, Browser, start, visit

BROWSER, NVTALLY, TRACE, FILE = sys.argv[1:5]


def main():
    view, address = start(NVTALLY, TRACE)
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(BROWSER, "1280,800", folder)
        try:
            browser.send("Emulation.setDeviceMetricsOverride", width=1280, height=640, deviceScaleFactor=1, mobile=False)
            visit(browser, address)
            browser.wait("$('findings').dataset.ready")
            browser.ask("(()=>{const [a,b]=all.sides[0].median,space=(b-a)*.02;show(a-space,b+space)})()")
            browser.wait(READY)
            browser.ask("new Promise(done=>requestAnimationFrame(()=>requestAnimationFrame(done)))")
            with open(FILE, "wb") as out:
                out.write(base64.b64decode(browser.send("Page.captureScreenshot")["data"]))
        finally:
            browser.end()
            view.terminate()
            view.wait()


main()
