// Takes out of package-lock.json what npm has no switch for: where its packages' authors ask for money.
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const each of Object.values(lock.packages)) delete each.funding;
writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");
