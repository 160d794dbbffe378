//! The decode engine's side of vLLM's `NixlConnector` with pulls (vllm/distributed/kv_transfer/kv_connector/v1/nixl/pull_scheduler.py): a
//! request whose prompt another engine computed pulls what it lacks of the prompt's KV memory, once. It stores nothing.

use servescope_workload::RequestId;

use super::{Connector, CopyId, Decided, NewCopy, Seen, Step, StoreStart};
use crate::replica::kv_cache::{BlockContents, Held, KvCache};

#[derive(Debug, Clone, Default)]
pub(super) struct Nixl {
    /// Requests that have blocks for what they pull since the last iteration was formed, and how many.
    pulls: Vec<(RequestId, u32)>,
}

impl Connector for Nixl {
    fn boxed(&self) -> Box<dyn Connector> {
        Box::new(self.clone())
    }

    fn store_start(&self) -> StoreStart {
        StoreStart::WithNextIteration
    }

    fn has(&self, _: BlockContents) -> bool {
        false
    }

    fn keep_changes(&mut self) {}

    fn take_changes(&mut self) -> Vec<(u32, bool)> {
        Vec::new()
    }

    fn matched(&mut self, request: Seen<'_>, local: u32) -> Option<u32> {
        Some(if request.is_to_be_pulled { request.known - local * request.block_size } else { 0 })
    }

    fn allocated(&mut self, request: Seen<'_>, _: u32, loaded: u32) {
        if loaded > 0 {
            self.pulls.push((request.id, loaded));
        }
    }

    fn formed(&mut self, _: &mut KvCache, step: &mut Step<'_>) -> Decided {
        let copy = |(id, blocks): (RequestId, u32)| -> NewCopy { step.copy(vec![id], blocks as usize) };
        let loads = std::mem::take(&mut self.pulls).into_iter().map(copy).collect();
        Decided { loads, awaited: Some(Vec::new()), ..Decided::default() }
    }

    fn ended(&mut self, _: &mut KvCache, _: CopyId) {}

    fn is_quiet(&self) -> bool {
        self.pulls.is_empty()
    }

    fn leaves(&mut self, _: &mut KvCache, _: Seen<'_>, _: &Held, _: u32, _: u32) {}
}
