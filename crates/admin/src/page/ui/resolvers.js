// Name servers with their counters.
import { ask, make } from "./dom.js";
import { Grid } from "./grid.js";
import { count } from "./units.js";

const COUNTS = [["Sent", "sent"], ["Valid", "valid"], ["Updates", "update"], ["Timeouts", "timeout"], ["Not found", "nx"],
  ["Refused", "refused"], ["Invalid", "invalid"], ["Send errors", "send_error"], ["Other errors", "other"], ["Too big", "too_big"],
  ["Truncated", "truncated"], ["Outdated", "outdated"]];
const COLUMNS = [
  { title: "Section", left: true, text: (row) => row.section, sort: (row) => row.section },
  { title: "Name server", left: true, text: (row) => row.name, sort: (row) => row.name },
  { title: "Address", left: true, text: (row) => row.address + (row.stream ? " (TCP)" : "") },
  ...COUNTS.map(([title, name], at) => ({ title, text: (row) => count(row[name]), sort: (row) => row[name], wide: at > 3 })),
];

export function resolvers(main) {
  const grid = new Grid({ label: "Name servers", columns: COLUMNS, key: (row) => row.section + " " + row.name, empty: "No resolvers section." });
  main.append(make("h1", { text: "Resolvers", tabindex: "-1" }), grid.element);
  async function refresh() {
    const data = await ask("resolvers");
    grid.empty = data.trusted ? "There is no resolvers section." : "Resolvers are shown with stats auth or stats show-legends, on a page without stats scope.";
    grid.show(data.rows);
  }
  return { refresh, every: 2000 };
}
