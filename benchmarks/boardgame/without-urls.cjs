// Takes out of package-lock.json what npm writes there for readers: where to donate.

const { readFileSync, writeFileSync } = require("node:fs");

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const entry of Object.values(lock.packages)) delete entry.funding;
writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");
