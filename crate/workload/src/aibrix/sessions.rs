//! The order in which a collection of prompts or sessions is used up (AIBrix, `RequestFinder`).

/// Prompts in shuffled order without replacement, shuffled again when used up: requests without wanted lengths.
#[derive(Debug, Clone)]
pub struct Deck {
    order: Vec<usize>,
    next: usize,
}

impl Deck {
    /// A deck of `count` prompts, shuffled with uniform numbers in (0, 1).
    pub fn new(count: usize, uniform: impl FnMut() -> f64) -> Self {
        let mut deck = Self { order: (0..count).collect(), next: 0 };
        deck.shuffle(uniform);
        deck
    }

    fn shuffle(&mut self, mut uniform: impl FnMut() -> f64) {
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, below(last + 1, &mut uniform));
        }
        self.next = 0;
    }

    /// The next prompt; `None` of an empty deck.
    pub fn draw(&mut self, uniform: impl FnMut() -> f64) -> Option<usize> {
        if self.next == self.order.len() {
            self.shuffle(uniform);
        }
        let prompt = self.order.get(self.next).copied();
        self.next += 1;
        prompt
    }
}

/// A whole number below `count` (at least 1) from a uniform number in (0, 1).
pub fn below(count: usize, mut uniform: impl FnMut() -> f64) -> usize {
    ((uniform() * count as f64) as usize).min(count - 1)
}

/// Sessions whose turns are taken one by one, in turn order within each.
///
/// The next turn is that of a session picked uniformly among the first `limit` that have turns left, in the order of the
/// collection; wanted lengths play no part.
#[derive(Debug, Clone)]
pub struct SessionPool {
    /// (session, turns taken) of those that may be picked, in the order of the collection.
    open: Vec<(usize, usize)>,
    turns: Vec<usize>,
    waiting: usize,
    limit: usize,
}

impl SessionPool {
    /// A pool of sessions with `turns` turns each, at most `limit` of them under way; 0 = all.
    pub fn new(turns: Vec<usize>, limit: usize) -> Self {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let mut pool = Self { open: Vec::new(), turns, waiting: 0, limit };
        pool.fill();
        pool
    }

    fn fill(&mut self) {
        while self.open.len() < self.limit && self.waiting < self.turns.len() {
            if self.turns[self.waiting] > 0 {
                self.open.push((self.waiting, 0));
            }
            self.waiting += 1;
        }
    }

    /// (session, turn) of those that may come next, in the order of the collection.
    pub fn open(&self) -> &[(usize, usize)] {
        &self.open
    }

    /// Takes the next turn of the session at `place` among [`Self::open`]: (session, turn).
    pub fn take(&mut self, place: usize) -> Option<(usize, usize)> {
        let taken = *self.open.get(place)?;
        self.open[place].1 += 1;
        if self.open[place].1 == self.turns[taken.0] {
            self.open.remove(place);
            self.fill();
        }
        Some(taken)
    }

    /// Takes a turn at random: (session, turn); `None` when the sessions are used up, where AIBrix's entries are
    /// left without a request.
    pub fn draw(&mut self, uniform: impl FnMut() -> f64) -> Option<(usize, usize)> {
        if self.open.is_empty() {
            return None;
        }
        self.take(below(self.open.len(), uniform))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn every_prompt_comes_once_before_any_comes_twice() {
        let mut stream = Stream::named(1, "prompts");
        let mut deck = Deck::new(10, || stream.uniform());
        for _ in 0..3 {
            let mut round: Vec<usize> = (0..10).filter_map(|_| deck.draw(|| stream.uniform())).collect();
            round.sort_unstable();
            assert_eq!(round, (0..10).collect::<Vec<_>>());
        }
        assert_eq!(Deck::new(0, || 0.5).draw(|| 0.5), None);
    }

    #[test]
    fn one_session_at_a_time_is_in_order() {
        let mut pool = SessionPool::new(vec![2, 0, 1], 1);
        let taken: Vec<_> = std::iter::from_fn(|| pool.draw(|| 0.99)).collect();
        assert_eq!(taken, [(0, 0), (0, 1), (2, 0)]);
    }

    #[test]
    fn no_limit_is_all_and_turns_stay_in_order() {
        let mut stream = Stream::named(1, "sessions");
        let mut pool = SessionPool::new(vec![3; 20], 0);
        let mut next = [0; 20];
        while let Some((session, turn)) = pool.draw(|| stream.uniform()) {
            assert_eq!(next[session], turn);
            next[session] += 1;
        }
        assert_eq!(next, [3; 20]);
    }
}
