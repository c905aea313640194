/** Validation of names, label keys and label values, with the real server's messages. Pure. */

const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const DNS_LABEL_LENGTH_MAX = 63;
const DNS_SUBDOMAIN_LENGTH_MAX = 253;

function tooLong(text: string, lengthMax: number): string[] {
  return text.length > lengthMax ? [`must be no more than ${lengthMax} characters`] : [];
}

/** The problems of a name of one DNS label, such as a namespace's. */
export function dnsLabelProblems(name: string): string[] {
  const words =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  return [...tooLong(name, DNS_LABEL_LENGTH_MAX), ...(DNS_LABEL.test(name) ? [] : [words])];
}

/** The problems of a name of one or more DNS labels, such as a node's. */
export function dnsSubdomainProblems(name: string): string[] {
  const words =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  return [...tooLong(name, DNS_SUBDOMAIN_LENGTH_MAX), ...(DNS_SUBDOMAIN.test(name) ? [] : [words])];
}

/** The problems of a label or taint key: a name, perhaps behind a domain and a slash. */
export function qualifiedNameProblems(key: string): string[] {
  const parts = key.split("/");
  const [prefix, name = ""] = parts.length === 1 ? [null, key] : parts;
  if (parts.length > 2) {
    return [
      "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. " +
        "'example.com/MyName')",
    ];
  }
  const prefixFaults = prefix === null ? [] : prefixProblems(prefix ?? "");
  return [...prefixFaults, ...namePartProblems(name)];
}

function prefixProblems(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return dnsSubdomainProblems(prefix).map((problem) => `prefix part ${problem}`);
}

function namePartProblems(name: string): string[] {
  const empty = name === "" ? ["name part must be non-empty"] : [];
  const long = tooLong(name, DNS_LABEL_LENGTH_MAX).map((problem) => `name part ${problem}`);
  const words =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  return [...empty, ...long, ...(NAME_PART.test(name) ? [] : [words])];
}

/** The problems of a label or taint value. */
export function labelValueProblems(value: string): string[] {
  const words =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  return [...tooLong(value, DNS_LABEL_LENGTH_MAX), ...(LABEL_VALUE.test(value) ? [] : [words])];
}

const CONFIG_MAP_KEY = /^[-._a-zA-Z0-9]+$/;

/** The problems of a key of a ConfigMap, which may become the name of a file. */
export function configMapKeyProblems(key: string): string[] {
  const words =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  " +
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  const dots = key === "." || key.startsWith("..") ? [`must not be '.' or begin with '..'`] : [];
  const long = key.length > DNS_SUBDOMAIN_LENGTH_MAX ? tooLong(key, DNS_SUBDOMAIN_LENGTH_MAX) : [];
  return [...long, ...(CONFIG_MAP_KEY.test(key) ? dots : [words])];
}
