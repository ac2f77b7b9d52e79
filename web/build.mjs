// Builds the pages from src into dist, which is committed and embedded by
// pages.go.
//
//	node build.mjs          writes dist
//	node build.mjs --check  exits 1 if dist is not what src makes
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const bundled = ["leaflet", "preact", "htm", "topojson-client", "world-atlas"];

// The outlines of countries without their names: the page shows shapes only.
const outlines = {
  name: "outlines",
  setup(b) {
    b.onResolve({ filter: /^outlines$/ }, () => ({ path: "outlines.json", namespace: "outlines" }));
    b.onLoad({ filter: /.*/, namespace: "outlines" }, () => {
      const atlas = JSON.parse(readFileSync(join(here, "node_modules/world-atlas/countries-50m.json"), "utf8"));
      const geometries = atlas.objects.countries.geometries.map(({ type, arcs }) => ({ type, arcs }));
      atlas.objects = { countries: { type: "GeometryCollection", geometries } };
      return { contents: JSON.stringify(atlas), loader: "file" };
    });
  },
};

const hashed = (name, text) => {
  const dot = name.lastIndexOf(".");
  const sum = createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase();
  return `${name.slice(0, dot)}-${sum}${name.slice(dot)}`;
};

const licences = () =>
  bundled
    .map((name) => {
      const dir = join(here, "node_modules", name);
      const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
      const { version } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
      return `${name} ${version}\n\n${readFileSync(join(dir, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);

// make returns every file of dist: path → bytes.
async function make() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { map: "src/main.js" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: ["es2022"],
    outdir: "dist/assets",
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    publicPath: "/assets",
    legalComments: "none",
    loader: { ".png": "empty" },
    plugins: [outlines],
    logLevel: "warning",
  });
  const files = new Map();
  const names = {};
  for (const out of result.outputFiles) {
    const name = out.path.slice(out.path.lastIndexOf("/") + 1);
    files.set(`assets/${name}`, Buffer.from(out.contents));
    names[name.slice(name.lastIndexOf(".") + 1)] ??= name;
    if (/^map-.*\.(js|css)$/.test(name)) names[name.slice(name.lastIndexOf(".") + 1)] = name;
  }
  for (const [key, name, text] of [
    ["icon", "icon.svg", readFileSync(join(here, "src/icon.svg"), "utf8")],
    ["licences", "licences.txt", licences()],
  ]) {
    names[key] = hashed(name, text);
    files.set(`assets/${names[key]}`, Buffer.from(text));
  }
  const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/\{\{asset (\w+)\}\}/g, (_, key) => {
    if (!names[key]) throw new Error(`index.html asks for an asset ${key}, and there is none`);
    return `/assets/${names[key]}`;
  });
  files.set("index.html", Buffer.from(page));
  return files;
}

function committed() {
  const files = new Map();
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(dist.length + 1), readFileSync(path));
  }
  return files;
}

const made = await make();
if (process.argv.includes("--check")) {
  const kept = committed();
  const wrong = [...new Set([...made.keys(), ...kept.keys()])].filter((f) => !(made.get(f) && kept.get(f)?.equals(made.get(f))));
  if (wrong.length) {
    console.error(`dist is not what src makes; run npm run build in web. Differs: ${wrong.sort().join(", ")}`);
    process.exit(1);
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  for (const [name, bytes] of made) {
    mkdirSync(dirname(join(dist, name)), { recursive: true });
    writeFileSync(join(dist, name), bytes);
    console.log(`${String(bytes.length).padStart(8)}  ${name}`);
  }
}
