/**
 * Writes the modules src/wire/*.generated.ts from proto/: for each package one TypeScript module
 * with the reflected descriptor and a type for every message. The build is tsc alone: pbjs would add JavaScript and
 * declaration files that tsc neither checks nor copies to dist/.
 *
 *   npm run build && node dist/src/wire/generate.js        (from the root of the repository)
 *
 * Each message becomes two interfaces: decoding returns a `Machine` (every field present, read-only), encoding takes a
 * `MachineInit` (every field optional; an absent field has its default).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import protobuf from 'protobufjs';

export const PROTO_FILES = ['provider', 'capacity', 'shard', 'shardread', 'coordinator'] as const;

interface ProtocolPackage {
  readonly name: string;
  /** Below proto/. */
  readonly files: readonly string[];
  /** In src/wire. */
  readonly output: string;
}

export const BIGFLEET: ProtocolPackage = {
  name: 'bigfleet.v1alpha1',
  files: PROTO_FILES.map((name) => `bigfleet/v1alpha1/${name}.proto`),
  output: 'protocol.generated.ts',
};

/** A module of its own: a shard without a directory does not load it. */
export const ETCD: ProtocolPackage = {
  name: 'etcdserverpb',
  files: ['etcd/rpc.proto'],
  output: 'etcd.generated.ts',
};

/** Commands to a running shard; also a module of its own. */
export const ADMIN: ProtocolPackage = {
  name: 'flotilla.admin.v1',
  files: ['flotilla/admin/v1/admin.proto'],
  output: 'admin.generated.ts',
};

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array',
  bool: 'boolean',
  double: 'number',
  int32: 'number',
  int64: 'number',
};

export function generateProtocolModule(protoDirectory: string, { name, files }: ProtocolPackage): string {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(protoDirectory, target);
  root.loadSync([...files]);
  root.resolveAll();
  const messages: protobuf.Type[] = [];
  const enums: protobuf.Enum[] = [];
  const namespace = root.lookup(name) as protobuf.Namespace;
  collect(namespace, messages, enums);
  return [
    '// Generated from proto/ by src/wire/generate.ts. Do not edit: change the .proto files and generate again.',
    ...enums.map(enumText),
    ...messages.flatMap((message) => [messageText(message), initText(message)]),
    namesText('Messages', messages, ''),
    namesText('MessageInits', messages, 'Init'),
    descriptorText(namespace),
    '',
  ].join('\n\n');
}

function collect(namespace: protobuf.Namespace, messages: protobuf.Type[], enums: protobuf.Enum[]): void {
  for (const member of namespace.nestedArray) {
    if (member instanceof protobuf.Enum) enums.push(member);
    if (member instanceof protobuf.Type) messages.push(member);
    if (member instanceof protobuf.Namespace) collect(member, messages, enums);
  }
}

/** `NodeSelectorRequirement.Operator` is `NodeSelectorRequirementOperator` here. */
function typeName(object: protobuf.ReflectionObject): string {
  const { parent } = object;
  return parent instanceof protobuf.Type ? typeName(parent) + object.name : object.name;
}

function enumText(reflected: protobuf.Enum): string {
  const values = Object.entries(reflected.values).map(([name, value]) => `  ${name}: ${value},`);
  return `export const ${typeName(reflected)} = {\n${values.join('\n')}\n} as const;`;
}

function messageText(message: protobuf.Type): string {
  const lines = message.fieldsArray.map((field) => `  readonly ${field.name}: ${fieldType(field, '')};`);
  for (const oneof of message.oneofsArray) {
    const names = oneof.fieldsArray.map((field) => `'${field.name}'`).join(' | ');
    lines.push(`  /** Which of these is set. */\n  readonly ${oneof.name}: ${names} | undefined;`);
  }
  return `export interface ${typeName(message)} {\n${lines.join('\n')}\n}`;
}

function initText(message: protobuf.Type): string {
  const lines = message.fieldsArray.map(
    (field) => `  readonly ${field.name}?: ${fieldType(field, 'Init')} | undefined;`,
  );
  return `export interface ${typeName(message)}Init {\n${lines.join('\n')}\n}`;
}

/** The members of the package, one per line, so that a changed message is one changed line. */
function descriptorText(namespace: protobuf.Namespace): string {
  const members = Object.entries(namespace.toJSON().nested ?? {});
  const lines = members.map(([name, member]) => `  ${name}: ${JSON.stringify(member)},`);
  return `export const DESCRIPTOR = {\n${lines.join('\n')}\n};`;
}

function fieldType(field: protobuf.Field, suffix: '' | 'Init'): string {
  const element = elementType(field, suffix);
  if (field instanceof protobuf.MapField) return `Readonly<Record<string, ${element}>>`;
  if (field.repeated) return `readonly ${element}[]`;
  return field.resolvedType instanceof protobuf.Type ? `${element} | null` : element;
}

function elementType(field: protobuf.Field, suffix: '' | 'Init'): string {
  if (field.resolvedType instanceof protobuf.Type) return typeName(field.resolvedType) + suffix;
  // Enums are open in proto3: an unknown value arrives as its number.
  if (field.resolvedType instanceof protobuf.Enum) return 'number';
  const type = SCALARS[field.type];
  if (type === undefined) throw new Error(`No TypeScript type is known for ${field.fullName}: ${field.type}`);
  return type;
}

function namesText(name: string, messages: readonly protobuf.Type[], suffix: string): string {
  const lines = messages.map((message) => `  ${typeName(message)}: ${typeName(message)}${suffix};`);
  return `export interface ${name} {\n${lines.join('\n')}\n}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const protocol of [BIGFLEET, ETCD, ADMIN]) {
    writeFileSync(join('src', 'wire', protocol.output), generateProtocolModule('proto', protocol));
  }
}
