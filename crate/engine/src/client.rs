//! What counts as one client where service is shared out, and lists that are assigned to clients round-robin.

use servescope_workload::{BASE_MODEL, RequestId, Trace};

servescope_workload::index_type! {
    /// A client: the user's number, or the adapter's where each adapter counts as one ([`Client`]).
    ClientId(u32)
}

/// What counts as one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Client {
    /// The user that sent the request.
    #[default]
    User,
    /// The adapter that it asks for, as in S-LoRA and VTC's artifact; the base model is one more.
    Adapter,
}

impl Client {
    /// How many clients a trace has.
    pub fn count(self, trace: &Trace) -> usize {
        match self {
            Self::User => trace.user_count(),
            Self::Adapter => trace.adapter_count() + 1,
        }
    }

    /// The client of request `id` of a trace that has `count` of them.
    pub fn of(self, trace: &Trace, id: RequestId, count: usize) -> ClientId {
        ClientId::new(match self {
            Self::User => trace.user[id],
            Self::Adapter => match trace.adapter[id] {
                BASE_MODEL => count as u32 - 1,
                adapter => adapter,
            },
        })
    }
}

/// The entry of a list that is assigned round-robin; `otherwise` for an empty one.
pub(crate) fn cycle_get(list: &[f64], index: usize, otherwise: f64) -> f64 {
    if list.is_empty() { otherwise } else { list[index % list.len()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::trace::Request;

    #[test]
    fn the_base_model_is_the_last_client() {
        let mut trace = Trace { adapter_rank: vec![8, 16], ..Trace::default() };
        for adapter in [1, BASE_MODEL] {
            let (input_tokens, output_tokens, max_tokens) = (1, 1, 1);
            trace.push(Request {
                arrival_us: 0.0,
                user: 0,
                adapter,
                input_tokens,
                output_tokens,
                max_tokens,
            });
        }
        let count = Client::Adapter.count(&trace);
        assert_eq!([0, 1].map(RequestId::new).map(|id| Client::Adapter.of(&trace, id, count).get()), [1, 2]);
        assert_eq!([0, 1].map(RequestId::new).map(|id| Client::User.of(&trace, id, 1).get()), [0, 0]);
    }

    #[test]
    fn a_list_is_assigned_round_robin() {
        let list = [1.0, 2.0, 3.0];
        assert_eq!([0, 2, 4].map(|index| cycle_get(&list, index, 9.0)), [1.0, 3.0, 2.0]);
        assert_eq!(cycle_get(&[], 4, 9.0), 9.0);
    }
}
