// Result files that were opened elsewhere on the page, for the tab Validation to take up.
import { Topic } from '../lib/topic.js';

export const measuredFiles = new Topic<readonly File[]>([]);
