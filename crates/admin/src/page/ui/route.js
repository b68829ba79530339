// The address of a view: a path behind the number sign, and options. Each view and search has one.

// `#/server/app/s1?x=y` as its parts.
export function parse(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...words] = path.split("/").map(decoded);
  return { view: view || "", words, options: new URLSearchParams(query) };
}

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export function link(...words) {
  return "#/" + words.map(encodeURIComponent).join("/");
}

// Notes an option in the address without a new view; an empty one is left out.
export function note(name, value) {
  const { view, words, options } = parse();
  if (value) options.set(name, value);
  else options.delete(name);
  const query = options.toString();
  history.replaceState(null, "", link(...(view ? [view, ...words] : [])) + (query && "?" + query));
}
