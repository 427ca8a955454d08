/* Copy buttons, a scroll cue for wide tables, and what a site opened from a folder needs. Works without: all text is there. */
(() => {
  "use strict";
  const fromFolder = location.protocol === "file:";

  const say = (button, text) => {
    button.dataset.said = text;
    setTimeout(() => delete button.dataset.said, 1600);
  };

  /* A citation names its page by path; the reader wants the address. */
  const whole = (button) => {
    const { copy, path } = button.dataset;
    if (!path) return copy;
    const canonical = document.querySelector("link[rel=canonical]")?.href;
    return copy.replace(path, () => canonical || location.href.replace(/[?#].*/, ""));
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(whole(button));
      say(button, "Copied");
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      say(button, "Selected");
    }
  });

  const markOverflow = (entries) => {
    for (const { target } of entries) target.toggleAttribute("data-overflows", target.scrollWidth > target.clientWidth + 1);
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
    const sizes = new ResizeObserver(markOverflow);
    const observe = () => document.querySelectorAll(".dx-table").forEach((table) => sizes.observe(table));
    observe();
    document.addEventListener("dossier:tables", observe);
  });

  if (!fromFolder) return;

  /* A folder has no server that turns `findings/` into `findings/index.html`. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.protocol !== "file:" || !link.pathname.endsWith("/")) return;
    link.pathname += "index.html";
  }, true);

  /* Browsers refuse workers from a folder: run the search worker in a frame, which keeps its globals apart. */
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inner = frame.contentWindow;
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inner.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(inner, each)), Promise.resolve());
          load(inner, url).then(() => resolve(inner));
        }, { once: true });
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
  };

  function load(inner, url) {
    return new Promise((resolve, reject) => {
      const script = inner.document.createElement("script");
      script.onload = resolve;
      script.onerror = reject;
      script.src = new URL(url, document.baseURI);
      inner.document.body.append(script);
    });
  }
})();
