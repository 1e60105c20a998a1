/**
 * Finds where a profiled function is: its line in the source, if the source map is available, and its part of the program.
 */
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProfiledFunction } from './cpu-profile.ts';

export interface Place {
  /** `src/decision/engine.ts:120`, `@grpc/grpc-js build/src/call.js:40`, `node:internal/timers:512`; '' if there is none. */
  readonly text: string;
  /** `src/decision`, `@grpc/grpc-js`, `node`, `garbage collection`, `runtime`. */
  readonly part: string;
}

const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)(.*)$/;
const COMPILED = /\/dist\/((?:src|workers|bench)\/.*)$/;

export class Places {
  readonly #maps = new Map<string, SourceMap | null>();

  of({ name, url, line, column }: ProfiledFunction): Place {
    if (name === '(garbage collector)') return { text: '', part: 'garbage collection' };
    if (url === '') return { text: '', part: 'runtime' };
    if (url.startsWith('node:')) return { text: `${url}:${line + 1}`, part: 'node' };
    const [, packageName, packageFile] = PACKAGE.exec(url) ?? [];
    if (packageName !== undefined)
      return { text: `${packageName} ${packageFile}:${line + 1}`, part: packageName };
    const file = COMPILED.exec(url)?.[1];
    if (file === undefined) return { text: `${url}:${line + 1}`, part: 'other' };
    const [source, sourceLine] = this.#sourceOf(url, file, line, column);
    return { text: `${source}:${sourceLine}`, part: file.split('/').slice(0, -1).slice(0, 2).join('/') };
  }

  #sourceOf(url: string, file: string, line: number, column: number): [string, number] {
    const entry = this.#mapOf(url)?.findEntry(line, column);
    if (entry === undefined || !('originalSource' in entry)) return [file, line + 1];
    const name = posix.basename(entry.originalSource);
    return [posix.join(posix.dirname(file), name), entry.originalLine + 1];
  }

  #mapOf(url: string): SourceMap | null {
    const known = this.#maps.get(url);
    if (known !== undefined) return known;
    let map: SourceMap | null = null;
    try {
      map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')) as SourceMapPayload);
    } catch {} // The profile comes from another host: the line in the compiled file must do.
    this.#maps.set(url, map);
    return map;
  }
}
