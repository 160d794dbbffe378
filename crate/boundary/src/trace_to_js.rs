//! A trace on its way from the studio to the simulator: one typed array a column.

use js_sys::{Float64Array, Object, Reflect, Uint32Array};
use servescope_workload::Trace;
use wasm_bindgen::prelude::*;

use crate::types::JsTraceColumns;

/// The columns of a trace that a simulation needs.
pub fn columns(trace: &Trace) -> JsTraceColumns {
    let target = Object::new();
    let set = |key: &str, value: JsValue| {
        // Setting a property of a fresh plain object cannot fail.
        let _ = Reflect::set(&target, &key.into(), &value);
    };
    set("arrival_us", Float64Array::from(trace.arrival_us.as_slice()).into());
    for (key, column) in [
        ("user", &trace.user),
        ("adapter", &trace.adapter),
        ("input_tokens", &trace.input_tokens),
        ("output_tokens", &trace.output_tokens),
        ("max_tokens", &trace.max_tokens),
        ("adapter_rank", &trace.adapter_rank),
    ] {
        set(key, Uint32Array::from(column.as_slice()).into());
    }
    let closed_loop = trace.closed_loop.as_deref().cloned().unwrap_or_default();
    set("after", Uint32Array::from(closed_loop.depends_on.as_slice()).into());
    set("think_us", Float64Array::from(closed_loop.think_us.as_slice()).into());
    set("until_us", Float64Array::from(&[closed_loop.until_us][..]).into());
    let metadata = trace.metadata.as_deref();
    set("session", Uint32Array::from(metadata.map_or(&[][..], |e| &e.session.index)).into());
    set("took_s", Float64Array::from(metadata.map_or(&[][..], |e| &e.recorded_latency_s)).into());
    let flat: Vec<f64> = trace.cancellations.iter().flat_map(|&(t, id)| [t, f64::from(id)]).collect();
    set("cancellations", Float64Array::from(flat.as_slice()).into());
    JsValue::from(target).unchecked_into()
}
