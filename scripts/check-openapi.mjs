// Checks docs/openapi.json: that it is valid OpenAPI 3.1, and that the requests and responses of the server's
// tests are as it says. `COLONNADE_EXCHANGES=FILE cargo test -p colonnade-server` appends these to FILE,
// which is the argument.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv/dist/2020.js";
import { Obstacle, root, say, script } from "./run.mjs";

const description = "docs/openapi.json";

/** Request headers that any request may have. */
const requestHeaders = new Set(
  `accept accept-encoding access-control-request-method authorization connection content-length content-type
  cookie expect host origin sec-fetch-site transfer-encoding`.split(/\s+/),
);

/** Response headers that any response may have. */
const responseHeaders = new Set(
  `accept-ranges access-control-allow-headers access-control-allow-methods access-control-allow-origin
  access-control-expose-headers access-control-max-age cache-control connection content-encoding content-length
  content-security-policy content-type cross-origin-resource-policy date referrer-policy transfer-encoding vary
  x-accel-buffering x-content-type-options`.split(/\s+/),
);

/** The description, with what of it the exchanges have shown. */
class Description {
  constructor(document) {
    this.document = document;
    this.unseen = new Set();
    this.templates = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    }));
    this.validators = new Map();
    const options = { allowUnionTypes: true, strictTypes: false, validateFormats: false };
    this.ajv = new Ajv(options);
    // The values of parameters and headers are texts.
    this.ajvOfTexts = new Ajv({ ...options, coerceTypes: true });
    for (const ajv of [this.ajv, this.ajvOfTexts]) {
      ajv.addVocabulary(["components"]);
      ajv.addKeyword({
        keyword: "x-place",
        validate: (place) => {
          this.unseen.delete(place);
          return true;
        },
      });
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      for (const [key, property] of Object.entries(schema.properties ?? {})) {
        this.expect(property, `${name}.${key}`);
      }
    }
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const name = `${method.toUpperCase()} ${path}`;
        operation.parameters = (operation.parameters ?? []).map((node) => {
          const parameter = structuredClone(this.resolve(node));
          this.expect(parameter.schema, `${name} ${parameter.name}`);
          return parameter;
        });
        for (const status of Object.keys(operation.responses)) {
          if (status < "400") this.unseen.add(`${name} ${status}`);
        }
      }
    }
  }

  /** Expects that some exchange has a value of this schema. */
  expect(schema, place) {
    schema["x-place"] = place;
    this.unseen.add(place);
  }

  resolve(node) {
    if (!node.$ref) return node;
    const keys = node.$ref.split("/").slice(1);
    return keys.reduce((inner, key) => inner[key], this.document);
  }

  /** What is wrong with a value; undefined if nothing is. */
  wrong(schema, value, ajv = this.ajv) {
    let validate = this.validators.get(schema);
    if (!validate) {
      validate = ajv.compile({ ...schema, components: this.document.components });
      this.validators.set(schema, validate);
    }
    if (validate(value)) return undefined;
    const [{ instancePath, message, params }] = validate.errors;
    return [instancePath, message, params.additionalProperty].filter(Boolean).join(" ");
  }

  /** One schema for all parameters of an operation of one kind. */
  parametersSchema(operation, where) {
    operation.schemas ??= {};
    if (!operation.schemas[where]) {
      const parameters = operation.parameters.filter((parameter) => parameter.in === where);
      const name = ({ name }) => (where === "header" ? name.toLowerCase() : name);
      operation.schemas[where] = {
        type: "object",
        properties: Object.fromEntries(parameters.map((one) => [name(one), one.schema])),
        required: parameters.filter((one) => one.required).map(name),
        additionalProperties: false,
      };
    }
    return operation.schemas[where];
  }

  /** What the description does not say of an exchange. */
  *complaints(exchange) {
    const url = new URL(exchange.path, "http://localhost");
    const template = this.templates.find(({ pattern }) => pattern.test(url.pathname));
    const isAnswered = exchange.status < 400;
    if (!template) {
      if (isAnswered && url.pathname.startsWith("/v1")) yield `${url.pathname}: not described`;
      return;
    }
    const method = exchange.method === "HEAD" ? "GET" : exchange.method;
    const name = `${method} ${template.path}`;
    const operation = this.document.paths[template.path][method.toLowerCase()];
    if (!operation) {
      if (isAnswered && method !== "OPTIONS") yield `${name}: not described`;
      return;
    }
    const response = this.resolve(operation.responses[exchange.status] ?? {});
    if (!response.description) {
      yield `${name}: status ${exchange.status} is not described`;
      return;
    }
    this.unseen.delete(`${name} ${exchange.status}`);
    for (const text of this.complaintsOfResponse(exchange, response)) {
      yield `${name} ${exchange.status}: ${text}`;
    }
    if (!isAnswered) return;
    const path = template.pattern.exec(url.pathname).groups ?? {};
    for (const text of this.complaintsOfRequest(exchange, operation, url, path)) {
      yield `${name}: a request that is answered: ${text}`;
    }
  }

  *complaintsOfResponse({ method, headers, body, status }, response) {
    const described = Object.entries(response.headers ?? {}).map(([name, node]) => [
      name.toLowerCase(),
      this.resolve(node),
    ]);
    const names = new Set(described.map(([name]) => name));
    for (const name of Object.keys(headers)) {
      if (!names.has(name) && !responseHeaders.has(name)) yield `header ${name} is not described`;
    }
    for (const [name, { required, schema }] of described) {
      if (required && !(name in headers)) yield `header ${name} is missing`;
      if (!(name in headers)) continue;
      const wrong = this.wrong(schema, headers[name], this.ajvOfTexts);
      if (wrong) yield `header ${name}: ${wrong}`;
    }
    if (status === 304 || method === "HEAD") return;
    const type = headers["content-type"];
    const media = response.content?.[type];
    if (type && !media) yield `content type ${type} is not described`;
    if (response.content && !type) yield "there is no content type";
    const wrong = media?.schema && body !== null && this.wrong(media.schema, JSON.parse(body));
    if (wrong) yield wrong;
  }

  *complaintsOfRequest({ request_headers, request_body }, operation, url, path) {
    const others = Object.entries(request_headers).filter(([name]) => !requestHeaders.has(name));
    const values = {
      path: Object.fromEntries(
        Object.entries(path).map(([name, text]) => [name, decodeURIComponent(text)]),
      ),
      query: Object.fromEntries(url.searchParams),
      header: Object.fromEntries(others),
    };
    for (const [where, value] of Object.entries(values)) {
      const schema = this.parametersSchema(operation, where);
      const wrong = this.wrong(schema, value, this.ajvOfTexts);
      if (wrong) yield `${where} ${wrong}`;
    }
    const type = request_headers["content-type"]?.split(";")[0];
    const content = operation.requestBody?.content;
    const media = content?.[type] ?? content?.["*/*"];
    if (content && type && !media) yield `content type ${type} is not described`;
    if (request_body === null || !media?.schema) return;
    const wrong = this.wrong(media.schema, JSON.parse(request_body));
    if (wrong) yield `body ${wrong}`;
  }
}

await script(async () => {
  const document = JSON.parse(readFileSync(join(root, description), "utf8"));
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  if (!valid) throw new Obstacle(`${description} is no valid OpenAPI: ${JSON.stringify(errors)}`);

  const described = new Description(document);
  const exchanges = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
  const complaints = new Set();
  for (const exchange of exchanges) {
    for (const complaint of described.complaints(JSON.parse(exchange))) complaints.add(complaint);
  }
  for (const place of described.unseen) complaints.add(`${place}: no test has shown it`);
  if (complaints.size > 0) {
    throw new Obstacle(`${description} and the server differ:\n  ${[...complaints].join("\n  ")}`);
  }
  say(`${description} describes the ${exchanges.length} exchanges of the tests`);
});
