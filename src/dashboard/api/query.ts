/** Reads and checks query parameters. An unknown parameter is an error, because ignoring it would hide a typo. */
import { ShardError } from '../../base/errors.ts';
import { CAPACITY_TYPE_COUNT, CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import { ALL_STATES, type MachineState, STATE_NAMES } from '../../machine/state.ts';

/** The API refuses a request: what is wrong, why, and what to do next, in separate fields. */
export class ApiRefusal extends ShardError {
  readonly code: string;
  readonly next = 'reject-input';
  readonly status: number;
  readonly what: string;
  readonly why: string;
  readonly advice: string;

  constructor(status: number, code: string, what: string, why: string, advice: string) {
    super(`${what} ${why} ${advice}`);
    this.code = code;
    this.status = status;
    this.what = what;
    this.why = why;
    this.advice = advice;
  }
}

export const LIMIT_MAX = 500;

export class Query {
  readonly #parameters: URLSearchParams;
  readonly #known = new Set<string>();

  constructor(parameters: URLSearchParams) {
    this.#parameters = parameters;
  }

  text(name: string): string {
    this.#known.add(name);
    return this.#parameters.get(name) ?? '';
  }

  /** Every value of a parameter that may be given several times. */
  texts(name: string): string[] {
    this.#known.add(name);
    return this.#parameters.getAll(name).filter((text) => text !== '');
  }

  optionalText(name: string): string | undefined {
    this.#known.add(name);
    return this.#parameters.get(name) ?? undefined;
  }

  /** `true`, `1` and the name without a value mean true. */
  flag(name: string): boolean {
    this.#known.add(name);
    const value = this.#parameters.get(name);
    if (value === null || value === 'false' || value === '0') return false;
    if (value === '' || value === 'true' || value === '1') return true;
    throw this.#refusal(name, value, 'true or false');
  }

  integer(name: string, usual: number, max: number): number {
    const value = this.text(name);
    if (value === '') return usual;
    const parsed = Number(value);
    if (/^\d{1,15}$/.test(value) && parsed <= max) return parsed;
    throw this.#refusal(name, value, `a whole number from 0 to ${max}`);
  }

  limit(usual: number): number {
    const limit = this.integer('limit', usual, LIMIT_MAX);
    if (limit > 0) return limit;
    throw this.#refusal('limit', '0', `a whole number from 1 to ${LIMIT_MAX}`);
  }

  state(name: string): MachineState | undefined {
    const value = this.text(name);
    if (value === '') return undefined;
    const found = ALL_STATES.find((state) => STATE_NAMES[state].toLowerCase() === value.toLowerCase());
    if (found !== undefined) return found;
    throw this.#refusal(name, value, `one of ${ALL_STATES.map((state) => STATE_NAMES[state]).join(', ')}`);
  }

  capacityType(name: string): CapacityType | undefined {
    const value = this.text(name);
    if (value === '') return undefined;
    for (let type = 0; type < CAPACITY_TYPE_COUNT; type++) {
      if (CAPACITY_TYPE_NAMES[type as CapacityType] === value.toLowerCase()) return type as CapacityType;
    }
    throw this.#refusal(name, value, `one of ${Object.values(CAPACITY_TYPE_NAMES).join(', ')}`);
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | '' {
    const value = this.text(name);
    const found = values.find((one) => one.toLowerCase() === value.toLowerCase());
    if (value === '' || found !== undefined) return found ?? '';
    throw this.#refusal(name, value, `one of ${values.join(', ')}`);
  }

  /** Several of these values, separated by commas; none if the parameter is missing. */
  someOf<T extends string>(name: string, values: readonly T[]): T[] {
    const value = this.text(name);
    if (value === '') return [];
    return value.split(',').map((part) => {
      const found = values.find((one) => one === part.trim().toLowerCase());
      if (found !== undefined) return found;
      throw this.#refusal(name, part, `one or several of ${values.join(', ')}`);
    });
  }

  /** Call it after reading the last parameter: it refuses all parameters that were not read. */
  end(): void {
    for (const name of this.#parameters.keys()) {
      if (this.#known.has(name)) continue;
      const allowed = [...this.#known].sort().join(', ');
      throw new ApiRefusal(
        400,
        'unknown_parameter',
        `Unknown parameter ${JSON.stringify(name)}.`,
        allowed === '' ? 'This path takes no parameters.' : `This path takes ${allowed}.`,
        'Remove it, or see docs/api.md.',
      );
    }
  }

  #refusal(name: string, value: string, wanted: string): ApiRefusal {
    return new ApiRefusal(
      400,
      'bad_parameter',
      `The parameter ${name} is ${JSON.stringify(value.slice(0, 100))}.`,
      `It must be ${wanted}.`,
      'Correct it and send the request again.',
    );
  }
}
