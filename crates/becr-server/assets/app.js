// The page: searches, and shows why. Whatever comes from documents is put in as text (textContent), never as markup.
"use strict";

const PARTS = ["deep", "lexi", "others"];
const STAGES = ["first_stage", "look_up", "fetch", "lexical", "deep"];
const LOOK = 10; // results asked for
const byId = (id) => document.getElementById(id);
const state = { answer: null, chosen: -1, picked: [], asked: 0 };

/** An element with properties and children; strings become text. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Asks the server; failures carry its message. */
async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) byId("token-form").hidden = false;
  if (!response.ok) throw new Error(answer.message || `the server answered ${response.status}`);
  return answer;
}

function say(text, wrong = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("wrong", wrong);
}

const mode = () => document.querySelector("input[name=mode]:checked").value;
const index = () => byId("index").value || undefined;
const number = (value) => value.toFixed(Math.abs(value) < 10 ? 2 : 1);

async function search() {
  const query = byId("query").value.trim();
  const turn = ++state.asked;
  close();
  if (!query) return;
  const address = new URLSearchParams({ q: query, mode: mode() });
  if (index()) address.set("index", index());
  history.replaceState(null, "", `?${address}`);
  document.title = `${query} – BECR`;
  say("Searching …");
  try {
    const answer = await ask("search", { query, mode: mode(), k: LOOK, index: index() });
    // Of several searches under way the latest counts.
    if (turn === state.asked) show(answer);
  } catch (error) {
    if (turn === state.asked) say(error.message, true);
  }
}

/** Forgets what is shown. */
function close() {
  Object.assign(state, { answer: null, chosen: -1, picked: [] });
  byId("results").replaceChildren();
  byId("compare").hidden = byId("groups").hidden = byId("legend").hidden = true;
}

function show(answer) {
  state.answer = answer;
  const { results, timing } = answer;
  const stages = STAGES.filter((stage) => stage in timing);
  const times = stages.map((stage) => `${stage.replace("_", " ")} ${timing[stage].toFixed(2)}`).join(", ");
  const found = results.length === 0 ? "Nothing found" : `${results.length} results`;
  say(`${found} in ${(timing.total ?? 0).toFixed(1)} ms (${times})`);
  showGroups(answer.groups, answer.coverage);
  byId("legend").hidden = !results.some((result) => result.parts);
  const scale = scaleOf(results.map((result) => result.parts).filter(Boolean));
  byId("results").replaceChildren(...results.map((result, place) => card(result, place, scale)));
}

/** The query's words and pairs: what the token store has, and what it lacks. */
function showGroups(groups, coverage) {
  const section = byId("groups");
  section.hidden = !groups || groups.length === 0;
  if (section.hidden) return;
  const chip = (group) => {
    const stands = group.pieces.length > 0 ? ` → ${group.pieces.join(" ")}` : "";
    const kind = group.words.length > 1 ? "pair" : "word";
    const title = group.found ? `This ${kind} was encoded with the index` : kind === "word"
      ? "This word is not in the token store; its pieces stand in" : "This pair is not in the token store and left out";
    return make("span", { className: group.found ? "group" : "group missing", title },
      group.words.join(" + ") + (group.found ? "" : `${stands} ✗`));
  };
  // An index of words alone, the usual kind, has no pairs to miss.
  const pairs = coverage.pairs_found > 0;
  const sorted = groups.filter((group) => pairs || group.words.length === 1).sort((a, b) => a.words.length - b.words.length || b.found - a.found);
  const missing = sorted.filter((group) => !group.found);
  section.replaceChildren(make("span", { className: "id" },
    `Token groups: ${coverage.words_found} of ${coverage.words} words` +
    (pairs ? `, ${coverage.pairs_found} of ${coverage.pairs} pairs` : "")),
  ...sorted.filter((group) => group.found).map(chip), ...missing.slice(0, 12).map(chip));
  if (missing.length > 12) section.append(make("span", { className: "id" }, `and ${missing.length - 12} missing pairs more`));
}

/** What a bar's ends stand for: the largest sums above and below zero. */
function scaleOf(all) {
  const sums = all.map((parts) => {
    const values = PARTS.map((part) => parts[part]);
    const sum = (sign) => values.filter((value) => value * sign > 0).reduce((a, b) => a + b, 0);
    return [sum(-1), sum(1)];
  });
  const low = Math.min(0, ...sums.map(([below]) => below));
  const high = Math.max(0, ...sums.map(([, above]) => above));
  return { low, width: high - low || 1 };
}

/** Parts side by side, from zero to the right, those below zero to the left. */
function bar(parts, scale) {
  const at = (value) => `${(100 * (value - scale.low)) / scale.width}%`;
  const size = (value) => `${(100 * Math.abs(value)) / scale.width}%`;
  let [above, below] = [0, 0];
  const pieces = Object.entries(parts).filter(([, value]) => value !== 0).map(([part, value]) => {
    const from = value > 0 ? above : below + value;
    if (value > 0) above += value; else below += value;
    return make("span", { className: part, title: `${part} ${number(value)}`, "--from": at(from), "--size": size(value) });
  });
  const told = Object.entries(parts).map(([part, value]) => `${part} ${number(value)}`).join(", ");
  return make("div", { className: "bar", role: "img", "aria-label": told }, ...pieces, make("i", { "--zero": at(0) }));
}

/** Words shaded by how well they match. */
function shaded(pieces, terms) {
  return pieces.map((piece) => {
    if (piece.strength === undefined) return piece.text;
    const near = terms && piece.term !== undefined && terms[piece.term] ? `near “${terms[piece.term].word}”: ` : "";
    // Squared, so that the many faint matches do not drown the few strong ones.
    return make("mark", { "--s": piece.strength ** 2 * 1.6, title: near + piece.strength.toFixed(2) }, piece.text);
  });
}

function movement(result) {
  if (!result.first_stage_rank)
    return make("span", { className: "move" }, `found by meaning, #${result.meaning_rank} → BECR #${result.rank}`);
  const by = result.first_stage_rank - result.rank;
  const text = by > 0 ? `▲ ${by}` : by < 0 ? `▼ ${-by}` : "=";
  const told = by > 0 ? `up ${by}` : by < 0 ? `down ${-by}` : "unmoved";
  const arrow = make("span", { className: by > 0 ? "up" : by < 0 ? "down" : "", "aria-label": told }, text);
  return make("span", { className: "move" }, `BM25 #${result.first_stage_rank} → BECR #${result.rank} `, arrow);
}

function card(result, place, scale) {
  const name = result.title || result.id;
  const head = make("div", { className: "head" }, make("span", { className: "rank" }, `${result.rank}.`),
    make("h2", {}, name), movement(result));
  const item = make("li", { className: "result", tabIndex: -1, id: `result-${place}` }, head);
  if (result.title && result.title !== result.id) item.append(make("div", { className: "id" }, result.id));
  if (result.passage) {
    const { pieces, starts_late, ends_early } = result.passage;
    item.append(make("p", { className: "text" }, starts_late ? "… " : "", ...shaded(pieces), ends_early ? " …" : ""));
  }
  if (result.parts) {
    item.append(make("div", { className: "score" }, bar(result.parts, scale),
      make("span", { className: "number" }, number(result.score))));
    const why = make("button", { type: "button", "aria-expanded": "false" }, "Why?");
    why.addEventListener("click", () => toggleWhy(place));
    const pick = make("input", { type: "checkbox" });
    pick.addEventListener("change", () => picked(place, pick.checked));
    item.append(make("div", { className: "actions" }, why,
      make("label", {}, pick, "Compare", make("span", { className: "hidden" }, name))));
  }
  item.addEventListener("focusin", () => choose(place, false));
  return item;
}

const cardOf = (place) => byId(`result-${place}`);
const explain = (documents) => ask("explain", {
  query: state.answer.query, documents, mode: state.answer.mode, index: state.answer.index,
});

/** Opens or closes the reasons of a result. */
async function toggleWhy(place) {
  const item = cardOf(place);
  const button = item.querySelector(".actions button");
  const open = item.querySelector(".why");
  button.setAttribute("aria-expanded", String(!open));
  if (open) return open.remove();
  const why = make("div", { className: "why" }, make("p", { className: "id" }, "Taking the score apart …"));
  item.append(why);
  try {
    const answer = await explain([state.answer.results[place].id]);
    const [document] = answer.documents;
    why.replaceChildren(
      table(`The score, ${number(document.score)}, is the sum of these`, document.rows),
      terms(answer.terms),
      make("p", { className: "text whole", tabIndex: 0, "aria-label": "The whole text" }, ...shaded(document.text, answer.terms)),
    );
  } catch (error) {
    why.replaceChildren(make("p", { className: "down" }, error.message));
  }
}

/** What each word of the query is composed of. */
function terms(all) {
  const row = (term) => make("tr", {}, make("th", { scope: "row" }, term.word), make("td", {},
    term.groups.map((group) => `${group.group} ${group.weight.toFixed(2)}`).join(" + ")));
  return make("table", {}, make("caption", {}, "Words of the query, and the token groups they are composed of"),
    make("tbody", {}, ...all.map(row)));
}

/** Contributions as bars, the largest first. */
function table(caption, rows) {
  const told = rows.filter((row) => Math.abs(row.contribution) >= 5e-4);
  told.sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const scale = scaleOf(told.map((row) => ({ deep: 0, lexi: 0, others: 0, [row.part]: row.contribution })));
  const line = (row) => make("tr", {}, make("td", { className: "name" }, row.name),
    make("td", {}, bar({ [row.part]: row.contribution }, scale)),
    make("td", { className: "number" }, (row.contribution > 0 ? "+" : "") + row.contribution.toFixed(3)));
  return make("table", {}, make("caption", {}, caption), make("tbody", {}, ...told.map(line)));
}

/** Which words of the query set two results apart: by words close to them, and by themselves. */
function byWord(words) {
  const told = words.filter((row) => Math.max(Math.abs(row.deep), Math.abs(row.lexi)) >= 5e-4);
  const scale = scaleOf(told.map(({ deep, lexi }) => ({ deep, lexi, others: 0 })));
  const cell = (value) => make("td", { className: "number" }, (value > 0 ? "+" : "") + value.toFixed(3));
  const line = ({ word, deep, lexi }) => make("tr", {}, make("td", { className: "name" }, word),
    make("td", {}, bar({ deep, lexi }, scale)), cell(deep), cell(lexi), cell(deep + lexi));
  const head = ["Word of the query", "", "words close to it", "itself", "together"];
  return make("table", {}, make("caption", {}, "The same by word of the query"),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...told.map(line)));
}

/** Takes a result to compare, or lets it go; of three the first goes. */
function picked(place, is) {
  state.picked = state.picked.filter((other) => other !== place);
  if (is) state.picked.push(place);
  if (state.picked.length > 2) cardOf(state.picked.shift()).querySelector("input").checked = false;
  compare();
}

async function compare() {
  const section = byId("compare");
  section.hidden = state.picked.length < 2;
  if (section.hidden) {
    if (state.picked.length === 1) say("Pick one more result to compare with");
    return;
  }
  const pair = [...state.picked].sort((a, b) => a - b);
  const [first, second] = pair.map((place) => state.answer.results[place]);
  section.replaceChildren(make("p", { className: "id" }, "Comparing …"));
  try {
    const answer = await explain([first.id, second.id]);
    if (pair.join() !== [...state.picked].sort((a, b) => a - b).join()) return;
    const column = (document, result) => make("div", {}, make("h2", {}, `${result.rank}. ${result.title || result.id}`),
      make("p", { className: "id" }, `score ${number(document.score)}`),
      make("p", { className: "text whole", tabIndex: 0 }, ...shaded(document.text, answer.terms)));
    const { score, rows, words } = answer.difference;
    section.replaceChildren(
      make("div", { className: "pair" }, column(answer.documents[0], first), column(answer.documents[1], second)),
      table(`The first is ahead by ${number(score)}: to the right what speaks for it, to the left what speaks for the second`, rows),
      ...(words.length > 0 ? [byWord(words)] : []),
    );
    section.focus({ preventScroll: true });
    section.scrollIntoView({ block: "nearest" });
    say(`Compared results ${first.rank} and ${second.rank}`);
  } catch (error) {
    section.replaceChildren(make("p", { className: "down" }, error.message));
  }
}

function choose(place, focus = true) {
  const count = state.answer ? state.answer.results.length : 0;
  if (count === 0) return;
  state.chosen = Math.max(0, Math.min(count - 1, place));
  document.querySelectorAll(".result").forEach((item, at) => item.classList.toggle("chosen", at === state.chosen));
  if (focus) cardOf(state.chosen).focus();
}

function key(event) {
  const typing = event.target.matches("input[type=search], input[type=password], select, textarea");
  if (event.key === "Escape") {
    if (!byId("compare").hidden) {
      state.picked.forEach((place) => { cardOf(place).querySelector("input").checked = false; });
      state.picked = [];
      byId("compare").hidden = true;
    } else if (typing) event.target.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    "/": () => byId("query").select(),
    j: () => choose(state.chosen + 1),
    k: () => choose(state.chosen - 1),
    w: () => cardOf(state.chosen)?.querySelector(".actions button")?.click(),
    c: () => cardOf(state.chosen)?.querySelector("input[type=checkbox]")?.click(),
  };
  const act = acts[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

async function begin() {
  const address = new URLSearchParams(location.search);
  try {
    const info = await ask("info");
    byId("token-form").hidden = true;
    byId("index").replaceChildren(...info.indexes.map(({ name }) => make("option", { value: name }, name)));
    byId("index-label").hidden = info.indexes.length < 2;
    const told = info.indexes.map(({ name, documents }) => `${name}: ${documents} documents`).join(", ");
    byId("about").textContent = `${told} · BECR ${info.version}`;
    const wanted = address.get("mode") || info.mode;
    const radio = document.querySelector(`input[name=mode][value="${wanted === "encoded" ? "encoded" : "composed"}"]`);
    radio.checked = true;
    if (info.indexes.some(({ name }) => name === address.get("index"))) byId("index").value = address.get("index");
    if (info.indexes[0].name === "sample") say("Try “dog in hot car”, “why do my ears hurt when the plane lands” or “getting over a breakup”.");
  } catch (error) {
    say(error.message, true);
    return;
  }
  if (address.get("q")) {
    byId("query").value = address.get("q");
    search();
  }
}

// Who is quicker than the server's word on modes and indexes waits for it.
byId("form").addEventListener("submit", (event) => { event.preventDefault(); begun.then(search); });
byId("modes").addEventListener("change", search);
byId("index").addEventListener("change", search);
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", byId("token").value);
  begun = begin();
});
document.addEventListener("keydown", key);
let begun = begin();
