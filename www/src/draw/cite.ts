// How to cite the program and a run of it, as BibTeX.
import type { App } from '../app/app.js';
import { version } from '../../package.json';

export { version };

/** As CITATION.cff has it. */
const TITLE = 'Servescope: a live, reproducible simulator of multi-tenant {LLM} serving';
const AUTHORS = 'The Servescope authors';

/** An entry for the program, and one for the run behind a link. */
export function bibtex({ version, address, link, digest, year }: { version: string; address: string; link: string; digest: string; year: number }): string {
  return `@software{servescope,
  title = {${TITLE}},
  author = {{${AUTHORS}}},
  version = {${version}},
  year = {${String(year)}},
  url = {${address}}
}

@misc{servescope-${digest},
  title = {Servescope run ${digest}},
  author = {{${AUTHORS}}},
  year = {${String(year)}},
  howpublished = {\\url{${link}}},
  note = {Servescope ${version}; the same settings give the same digest}
}
`;
}

/** BibTeX of the program and of the run that is shown. */
export function citation(app: App): string {
  const digest = document.documentElement.dataset['digest'] ?? '';
  return bibtex({ version, address: location.href.replace(/#.*$/u, ''), link: app.link(), digest, year: new Date().getFullYear() });
}
