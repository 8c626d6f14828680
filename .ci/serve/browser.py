"""The page in a real browser: search, reasons, comparison, a document that tries to be markup, dark mode, a phone."""

import os
import shutil
import sys

address, scratch = sys.argv[1], sys.argv[2]
chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if not chromium:
    print("no chromium here: the page was not tried")
    sys.exit(0)

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

    def open_page(**options):
        page = browser.new_page(**options)
        page.wrong = []
        page.on("console", lambda message: message.type == "error" and page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: request.url.startswith((address, "data:")) or page.wrong.append(request.url))
        return page

    def search(page, query):
        page.fill("#query", query)
        page.press("#query", "Enter")
        page.locator("#status", has_text=" ms").wait_for()

    page = open_page(viewport={"width": 1100, "height": 900})
    page.goto(address)
    search(page, "dog in hot car")
    assert page.locator(".result").count() == 10
    assert "BM25 #" in page.locator(".move").first.inner_text()
    assert page.locator(".result .bar").first.locator("span").count() >= 2
    assert page.locator(".result mark").count() > 5
    assert page.locator("#modes input:checked").get_attribute("value") == "encoded", "the index's own mode"
    assert page.locator("#groups").is_hidden()
    for stage in ("first stage", "deep", "lexical"):
        assert stage in page.locator("#status").inner_text(), stage
    print("search: ok")
    page.screenshot(path=os.path.join(scratch, "search.png"))

    # By keyboard alone: to the fourth result, its reasons, two to compare, away again.
    page.locator("#query").blur()
    for _ in range(4):
        page.keyboard.press("j")
    page.keyboard.press("w")
    page.wait_for_selector(".result.chosen .why table")
    assert page.locator(".result.chosen .rank").inner_text() == "4."
    rows = page.locator(".result.chosen .why table").first.locator("tr").count()
    assert rows >= 4, rows
    assert page.locator(".result.chosen .whole mark").count() > 3
    page.keyboard.press("w")
    assert page.locator(".why").count() == 0
    page.keyboard.press("c")
    page.keyboard.press("k")
    page.keyboard.press("c")
    page.wait_for_selector("#compare table")
    assert page.locator("#compare .pair > div").count() == 2
    captions = page.locator("#compare caption").all_inner_texts()
    assert "ahead by" in captions[0] and "by word" in captions[1], captions
    assert page.locator("#compare table").nth(1).locator("tbody tr").count() > 0
    page.screenshot(path=os.path.join(scratch, "compare.png"), full_page=True)
    page.keyboard.press("Escape")
    assert not page.locator("#compare").is_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    print("explain, compare, keyboard: ok")

    page.locator("#modes span", has_text="composed").click()
    page.locator("#groups").wait_for()
    assert "mode=composed" in page.url
    assert page.locator(".group").count() >= 4 and page.locator(".group.missing").count() == 0
    search(page, "dog in hot brumwagen")
    page.locator(".group.missing", has_text="brumwagen").wait_for()
    print("query modes: ok")

    search(page, "marzipan markup")
    page.locator("h2", has_text="<img src=x").wait_for()
    page.locator(".result", has_text="<img src=x").locator("button").click()
    page.wait_for_selector(".why .whole")
    assert "<script>" in page.locator(".why .whole").inner_text()
    assert page.locator("#results img, #results script, #results b").count() == 0
    assert "owned" not in page.title()
    print("markup is shown as text: ok")
    assert page.wrong == [], page.wrong

    dark = open_page(viewport={"width": 1100, "height": 900}, color_scheme="dark")
    dark.goto(f"{address}/?q=why+bread+goes+stale&mode=composed")
    dark.wait_for_selector(".result")
    colour = dark.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in colour[4:-1].split(",")) < 60, colour
    dark.screenshot(path=os.path.join(scratch, "dark.png"))
    assert dark.wrong == [], dark.wrong
    print("dark mode: ok")

    phone = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    phone.goto(f"{address}/?q=dog+in+hot+car")
    phone.wait_for_selector(".result")
    phone.locator(".result button").first.tap()
    phone.wait_for_selector(".why table")
    width = phone.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"{width} wide on a phone of 360"
    phone.screenshot(path=os.path.join(scratch, "phone.png"))
    assert phone.wrong == [], phone.wrong
    print("a phone's width: ok")
    browser.close()
