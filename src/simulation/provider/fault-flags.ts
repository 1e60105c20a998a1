/** Parses `--fault OPERATION[,KEY=VALUE…]`. */
import { durationMs, share, UsageError } from '../../base/flag-words.ts';
import { FAULT_ENDS, type Fault } from './faults.ts';
import { OPERATION_NAMES } from './lifecycle.ts';

const FORM = 'OPERATION[,cluster=NAME][,type=TYPE][,share=SHARE][,end=HOW][,after=TIME][,need=TEXT]';

/** `need=` takes the rest of the text, because a fingerprint contains commas. */
export function parseFault(text: string): Fault {
  const needAt = text.indexOf(',need=');
  const [name, ...pairs] = (needAt < 0 ? text : text.slice(0, needAt)).split(',');
  const operation = OPERATION_NAMES.find((each) => each === name);
  if (operation === undefined) {
    throw new UsageError(`--fault begins with ${OPERATION_NAMES.join(', ')}, not "${name}"`);
  }
  let fault: Fault = {
    operation,
    cluster: null,
    need: needAt < 0 ? null : text.slice(needAt + ',need='.length),
    instanceType: null,
    share: 1,
    end: 'failed',
    afterMs: null,
  };
  for (const pair of pairs) fault = { ...fault, ...field(pair) };
  if (fault.cluster === '' || fault.need === '' || fault.instanceType === '') {
    throw new UsageError(`--fault ${text} has an empty value: leave the key out to select everything`);
  }
  return fault;
}

function field(pair: string): Partial<Fault> {
  const at = pair.indexOf('=');
  const value = pair.slice(at + 1);
  switch (at < 0 ? '' : pair.slice(0, at)) {
    case 'cluster':
      return { cluster: value };
    case 'type':
      return { instanceType: value };
    case 'share':
      return { share: share('fault …,share=', value) };
    case 'after':
      return { afterMs: durationMs('fault …,after=', value) };
    case 'end': {
      const end = FAULT_ENDS.find((each) => each === value);
      if (end === undefined) {
        throw new UsageError(`--fault …,end= must be one of ${FAULT_ENDS.join(', ')}, not "${value}"`);
      }
      return { end };
    }
    default:
      throw new UsageError(`--fault has the form ${FORM}, not "…${pair}"`);
  }
}
