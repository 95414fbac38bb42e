// Uses a page as a reader would, and tells what is there then. It runs in the
// page, in a JavaScript world of its own: the page's scripts cannot touch it.
async ({ wait_for, actions, select, styles }) => {
  const later = (start) => new Promise(start);
  const find = (selector) => {
    const found = document.querySelector(selector);
    if (found) return found;
    throw new Error(`nothing is ${selector}`);
  };
  const settle = async () => {
    const pending = [...document.images].filter((image) => !image.complete);
    const ended = (image) =>
      later((done) => ["load", "error"].forEach((event) => image.addEventListener(event, done)));
    await Promise.all(pending.filter((image) => image.loading != "lazy").map(ended));
    await document.fonts.ready;
    for (let frames = 0; frames < 2; frames++) {
      await later((done) => requestAnimationFrame(() => setTimeout(done)));
    }
  };
  const appear = async (selector) => {
    // What never appears ends with the visit's time.
    while (!document.querySelector(selector)) await later((done) => setTimeout(done, 20));
    await settle();
  };
  const change = (element, value) => {
    element.focus();
    element.value = value;
    element.dispatchEvent(new InputEvent("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const press = (element, key) => {
    element.focus();
    for (const event of ["keydown", "keyup"]) {
      element.dispatchEvent(new KeyboardEvent(event, { key, bubbles: true, cancelable: true }));
    }
  };
  const act = async (action) => {
    if (action.click) find(action.click).click();
    if (action.type != null) change(find(action.into), action.type);
    if (action.press) press(find(action.on), action.press);
    if (action.wait_for) await appear(action.wait_for);
    await settle();
  };

  await settle();
  if (wait_for) await appear(wait_for);
  for (const action of actions) await act(action);
  const style = ([selector, names]) => {
    const computed = getComputedStyle(find(selector));
    return [selector, Object.fromEntries(names.map((name) => [name, computed.getPropertyValue(name)]))];
  };
  return {
    title: document.title,
    text: document.body.innerText.trim(),
    dom: find(select).innerHTML,
    images: [...document.images].map((image) => `${image.naturalWidth}x${image.naturalHeight}`),
    styles: Object.fromEntries(Object.entries(styles).map(style)),
  };
}
