// Texts stand in areas, a table each. The keys of the English table are the keys: the compiler checks that another language
// has the same, and that a caller gives the values which the English text has places for.

export type AreaName =
  | 'capacity' | 'compare' | 'debugger' | 'deployment' | 'diagnostics' | 'essay' | 'figure' | 'gateway' | 'help' | 'hero' | 'lessons' | 'measured' | 'metrics' | 'measured_run' | 'monitor' | 'names'
  | 'opening' | 'options' | 'own_model' | 'own_request' | 'page' | 'profile' | 'replicas' | 'search' | 'sweep' | 'crossover' | 'validation' | 'why' | 'workload';

export type Table = Readonly<Record<string, string>>;
export type Params = Readonly<Record<string, string | number>>;

/** A part of the page's texts, in English. It travels with the script that shows it. */
export interface Area<T extends Table> { readonly name: AreaName; readonly english: T }

/** Areas whose scripts have come. */
export const areasThere = new Set<AreaName>();

export function area<const T extends Table>(name: AreaName, english: T): Area<T> {
  areasThere.add(name);
  return { name, english };
}

/** The same texts in another language. */
export type Translation<A extends Area<Table>> = Readonly<Record<keyof A['english'], string>>;

/** The names of a text's places: of `{n}`, where a value is put, and of `{n|row|rows}`, the form that goes with a number. */
type Places<Text extends string> =
  Text extends `${string}{${infer Place}}${infer Rest}` ? (Place extends `${infer Name}|${string}` ? Name : Place) | Places<Rest> : never;
type Values<Text extends string> = [Places<Text>] extends [never] ? [] : [values: Readonly<Record<Places<Text>, string | number>>];

/** The keys of texts that need no values. */
export type PlainKey<A extends Area<Table>> = { [Key in keyof A['english'] & string]: Values<A['english'][Key]> extends [] ? Key : never }[keyof A['english'] & string];

/** Says a text of an area by its key. */
export type Say<A extends Area<Table>> = <Key extends keyof A['english'] & string>(key: Key, ...values: Values<A['english'][Key]>) => string;

const PLACE = /\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}/g;

/** The names of a text's places, as they are found when the page runs. */
export function placesOf(template: string): Set<string> {
  return new Set([...template.matchAll(PLACE)].map(([, name = '']) => name));
}

/** Puts values into a text; a place without a value stays as it is. */
export function fill(template: string, params: Params, shown: (value: number) => string, plural: Intl.PluralRules): string {
  return template.replace(PLACE, (place, name: string, one: string | undefined, other: string | undefined, at: number) => {
    const value = params[name];
    if (value === undefined) return place;
    if (one !== undefined && other !== undefined) return plural.select(Number(value)) === 'one' ? one : other;
    const text = typeof value === 'number' ? shown(value) : value;
    return spaced(template.charAt(at - 1), text, template.charAt(at + place.length));
  });
}

const HAN = /\p{Script=Han}/u;
const LATIN = /[A-Za-z0-9]/;

/** What stands between two characters: Chinese sets a space between Latin letters and its own. */
export function apart(one: string, other: string): string {
  return (HAN.test(one) && LATIN.test(other)) || (LATIN.test(one) && HAN.test(other)) ? ' ' : '';
}

/** A value between its neighbours. */
function spaced(before: string, value: string, after: string): string {
  return `${apart(before, value.charAt(0))}${value}${apart(value.charAt(value.length - 1), after)}`;
}
