/**
 * Builds container images from the files of this machine, for machines without an image registry: Node, nats-server,
 * Prometheus and the product. Prints the variables under which the tests and compose.yaml find them.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { natsServer } from "../support/nats-programs.ts";

const ROOT = join(import.meta.dirname, "../..");
const LIBRARIES = `/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
/** The file in the image with the certificate authorities that this machine trusts beside Node's. */
const CERTIFICATES = "/etc/ssl/certs/extra.pem";
/** This machine's network settings; the builder takes their values from the environment. */
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
/** Libraries that glibc loads to resolve a host name; no program names them. */
const NAME_SERVICE = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

/** The images by the variables that name them. */
const LOCAL_IMAGES = {
  NODE_IMAGE: "local/node:24",
  NATS_IMAGE: "local/nats:2",
  PROMETHEUS_IMAGE: "local/prometheus:2",
  VIGIL_IMAGE: "local/vigil:test",
};

/** A file system that becomes an image without a base. */
class RootFilesystem {
  readonly #context = mkdtempSync(join(tmpdir(), "vigil-image-"));
  readonly #root = join(this.#context, "root");

  /** Copies a file or a folder of this machine. */
  copy(from: string, to: string): void {
    const target = join(this.#root, to);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(realpathSync(from), target, { recursive: true });
  }

  /** Copies a program with the libraries it needs. */
  copyProgram(from: string, to: string): void {
    this.copy(from, to);
    const needed = execFileSync("ldd", [from], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g);
    for (const [, library = ""] of needed) this.copy(library, library);
  }

  /** Builds the image; `instructions` follow the copying of the files. */
  build(image: string, instructions: readonly string[]): void {
    mkdirSync(join(this.#root, "tmp"), { recursive: true });
    chmodSync(join(this.#root, "tmp"), 0o1777);
    const dockerfile = ["FROM scratch", "COPY root/ /", ...instructions];
    writeFileSync(join(this.#context, "Dockerfile"), `${dockerfile.join("\n")}\n`);
    build("--tag", image, this.#context);
    rmSync(this.#context, { recursive: true });
  }
}

/** Node and npm, laid out as in the official image, with this machine's access to the packages. */
function buildNode(): void {
  const root = new RootFilesystem();
  root.copyProgram(process.execPath, "/usr/local/bin/node");
  for (const library of NAME_SERVICE) root.copy(join(LIBRARIES, library), join(LIBRARIES, library));
  root.copy(join(npm("root", "--global"), "npm"), "/usr/local/lib/node_modules/npm");
  const { NODE_EXTRA_CA_CERTS: trusted } = process.env;
  if (trusted !== undefined) root.copy(trusted, CERTIFICATES);
  root.build(LOCAL_IMAGES.NODE_IMAGE, [
    `ENV PATH=/usr/local/bin npm_config_registry=${npm("config", "get", "registry")}`,
    ...(trusted === undefined ? [] : [`ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`]),
    'ENTRYPOINT ["node"]',
  ]);
}

function npm(...args: string[]): string {
  return execFileSync("npm", args, { encoding: "utf8" }).trim();
}

/** nats-server; the recipe of the official image without its shell. */
function buildNats(): void {
  const root = new RootFilesystem();
  root.copyProgram(natsServer(), "/usr/local/bin/nats-server");
  root.build(LOCAL_IMAGES.NATS_IMAGE, [
    "ENV PATH=/usr/local/bin",
    "EXPOSE 4222 6222 8222",
    'ENTRYPOINT ["nats-server"]',
  ]);
}

/** Prometheus as Debian ships it; the official image works in the same folder. */
function buildPrometheus(): void {
  const program = "/usr/bin/prometheus";
  if (!existsSync(program)) throw new Error("prometheus not found: apt-get install prometheus");
  const root = new RootFilesystem();
  root.copyProgram(program, "/bin/prometheus");
  root.build(LOCAL_IMAGES.PROMETHEUS_IMAGE, ["WORKDIR /prometheus", "EXPOSE 9090", 'ENTRYPOINT ["/bin/prometheus"]']);
}

/** The product, by its Dockerfile; packages are fetched over the network of this machine. */
function buildVigil(): void {
  const { NODE_IMAGE, VIGIL_IMAGE } = LOCAL_IMAGES;
  const given = [`NODE_IMAGE=${NODE_IMAGE}`, ...PROXIES.filter((name) => process.env[name] !== undefined)];
  build("--network", "host", ...given.flatMap((arg) => ["--build-arg", arg]), "--tag", VIGIL_IMAGE, ROOT);
}

/** The builder that every engine has, with brief output on standard error, beside the variables. */
function build(...args: string[]): void {
  const env = { ...process.env, DOCKER_BUILDKIT: "0" };
  execFileSync("docker", ["build", "--quiet", "--force-rm", ...args], { stdio: ["ignore", 2, 2], env });
}

buildNode();
buildNats();
buildPrometheus();
buildVigil();
for (const [variable, image] of Object.entries(LOCAL_IMAGES)) process.stdout.write(`export ${variable}=${image}\n`);
