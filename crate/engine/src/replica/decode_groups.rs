//! Requests that decode in the same iterations of a pipeline, of a scheduler that has several iterations of the same requests
//! under way. While nothing else happens to them, what they got is counted for all of them together and written down at the end.

use crate::record::work_time::WorkTime;
use crate::replica::kv_cache::within_block;
use servescope_cost::BatchCost;

use super::iteration::ScheduledBatch;
use crate::config::FleetConfig;
use crate::record::timeline::IterationRun;

/// The requests of a replica that decode, by the iterations of which they are part.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecodeGroups {
    /// The groups; some may be empty.
    list: Vec<DecodeGroup>,
    /// How many of the list count; the buffers of the others are used again.
    count: usize,
    /// Which group decodes in a schedule hangs on its number; otherwise a group decodes in the next one after its iteration ended.
    pub(crate) is_by_schedule: bool,
    /// Whether the first stage waits for the tokens of the group's iteration before.
    pub(crate) waits_for_tokens: bool,
    /// Schedules so far, and how many of those that were played formed an iteration.
    pub(crate) schedules: u64,
    pub(crate) formed: u64,
}

/// Requests that decode in the same iterations.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecodeGroup {
    /// The next iteration of them as it is to be formed. The tokens of its requests are those of the first one.
    pub(crate) next: ScheduledBatch,
    /// In which schedule the last one was formed.
    pub(crate) schedule: u64,
    /// How many were formed and how many ended since the group is counted together, and how many had ended when the last one was
    /// formed.
    pub(crate) formed: u32,
    pub(crate) ended: u32,
    pub(crate) ended_at_form: u32,
    /// So many may be formed, as long as fewer than so many have ended.
    pub(crate) most_formed: u32,
    pub(crate) most_ended_at_form: u32,
    /// With which of their ends the first request is done.
    pub(crate) first_done: u32,
    /// When all of them had their last token; not a number: not all at the same time.
    pub(crate) token_us: f64,
    /// The longest time between two tokens.
    pub(crate) longest_us: f64,
    /// How long they were in no iteration before each, where they were at all, and how long the stages worked on all.
    pub(crate) stalls_us: Vec<f64>,
    pub(crate) execution: WorkTime,
    /// How the last one that ended is recorded.
    pub(crate) record: Option<IterationRun>,
    /// Requests by their tokens before the first one, modulo the block size.
    phases: Vec<u32>,
}

impl DecodeGroups {
    /// So many empty groups.
    pub(crate) fn reset(&mut self, count: usize, config: &FleetConfig) {
        self.count = 0;
        (0..count).for_each(|_| self.add(0, config));
    }

    /// One more, whose last iteration was formed in a schedule.
    fn add(&mut self, schedule: u64, config: &FleetConfig) {
        if self.list.len() == self.count {
            self.list.push(DecodeGroup::default());
        }
        let group = &mut self.list[self.count];
        self.count += 1;
        group.next.clear();
        group.schedule = schedule;
        (group.formed, group.ended, group.ended_at_form) = (0, 0, 0);
        (group.most_formed, group.most_ended_at_form, group.first_done) = (u32::MAX, u32::MAX, u32::MAX);
        (group.token_us, group.longest_us) = (f64::NAN, 0.0);
        group.stalls_us.clear();
        group.execution = WorkTime::default();
        group.record = None;
        group.phases.clear();
        group.phases.resize(config.block_size as usize, 0);
    }

    /// The groups.
    pub(crate) fn all(&mut self) -> &mut [DecodeGroup] {
        &mut self.list[..self.count]
    }

    /// One of them.
    #[inline]
    pub(crate) fn group(&mut self, place: usize) -> &mut DecodeGroup {
        &mut self.list[place]
    }

    /// The place of the group of an iteration that was formed in a schedule, if there is one.
    pub(crate) fn place_of(&self, schedule: u64) -> Option<usize> {
        if self.is_by_schedule {
            return Some((schedule % self.count as u64) as usize);
        }
        self.list[..self.count].iter().position(|group| group.schedule == schedule)
    }

    /// The same, which is made where there is none.
    pub(crate) fn place_or_new(&mut self, schedule: u64, config: &FleetConfig) -> usize {
        self.place_of(schedule).unwrap_or_else(|| {
            self.add(schedule, config);
            self.count - 1
        })
    }

    /// Requests of the largest one.
    pub(crate) fn largest(&self) -> u32 {
        self.list[..self.count].iter().map(|group| group.next.decodes).max().unwrap_or(0)
    }
}

impl DecodeGroup {
    /// Counts a request with so many tokens.
    pub(crate) fn count_tokens(&mut self, tokens: u32) {
        let phase = within_block(tokens, self.phases.len());
        self.phases[phase] += 1;
    }

    /// Whether all of them go on after the iteration that ends next.
    pub(crate) fn goes_on(&self) -> bool {
        !self.token_us.is_nan() && self.ended + 1 < self.first_done
    }

    /// Blocks that an iteration takes before which `others` are formed, when `ends` more have ended; `None`: it may not be formed.
    #[inline]
    pub(crate) fn new_blocks(&self, others: u32, ends: u32) -> Option<u32> {
        let formed = self.formed + others;
        if formed >= self.most_formed || self.ended + ends >= self.most_ended_at_form {
            return None;
        }
        let size = self.phases.len();
        let rest = within_block(formed, size);
        Some(self.phases[if rest == 0 { 0 } else { size - rest }])
    }

    /// The next iteration is formed in a schedule. Returns how long the stages before the last one take for it, and the last one.
    #[inline]
    pub(crate) fn forms(&mut self, schedule: u64, cost: &dyn BatchCost) -> (f64, f64) {
        self.schedule = schedule;
        self.ended_at_form = self.ended;
        self.formed += 1;
        let next = &mut self.next;
        let [inner_us, last_us] = next.time_stages(cost);
        next.forms_again();
        (inner_us, last_us)
    }
}
