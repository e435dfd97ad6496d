#!/usr/bin/env node
// Starts the program for this platform, which npm installs as an optional
// dependency, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");

const windows = process.platform === "win32";
const platform = `agentgateway-lock-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/agentgateway-lock${windows ? ".exe" : ""}`);
} catch {
  console.error(`error: the package ${platform} is not installed`);
  console.error("hint: install without --omit=optional; if there is no such package, this platform has no release");
  process.exit(2);
}

// Messages show the name that the user typed.
const typed = path.basename(process.argv[1] ?? "");
const argv0 = typed === "agentgateway" ? typed : "agentgateway-lock";
const child = spawn(program, process.argv.slice(2), { stdio: "inherit", argv0 });

// A terminal sends an interrupt to the child too; what is sent to this process
// alone is passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`error: starting ${program}: ${err.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
