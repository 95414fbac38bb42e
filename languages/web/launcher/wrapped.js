// An entry that is no page, and the page around it.

/** The page of an entry that may be a page, a script or a stylesheet alone. */
export function wrapped(files, entry) {
  const text = files.text(entry);
  const address = encodeURI(`/${entry}`).replace(/[?#]/g, encodeURIComponent).replaceAll("&", "&amp;");
  const start = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n';
  const around = (head, body) =>
    [`${entry}.html`, `${start}<title>${title(entry)}</title>\n${head}</head>\n<body>\n${body}</body>\n</html>\n`];
  if (/\.css$/i.test(entry)) return around(`<link rel="stylesheet" href="${address}">\n`, "");
  if (/\.svg$/i.test(entry)) return around("", text);
  if (/\.([mc]?[jt]s|[jt]sx)$/i.test(entry)) {
    const isModule = /\.(m[jt]s|tsx?|jsx)$/i.test(entry) || /^\s*(import|export)\b(?!\s*\()/m.test(text);
    const type = isModule ? ' type="module"' : "";
    return around("", `<script${type} src="${address}"></script>\n`);
  }
  return [entry, text];
}

const title = (entry) => entry.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
