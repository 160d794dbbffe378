//! The studio of a worker: it reads files of every known format, changes what is in them step by step, fits distributions to it,
//! shows all that, and hands traces over to the simulator or writes them in another format.

use std::ops::ControlFlow;
use std::sync::Arc;

use js_sys::{Array, Function, Object, Reflect, Uint8Array};
use servescope_output::replies::{
    FitReply, LengthsFile, Peeked, Shaped, SourceInfo, StepKinds, StepRefusal, StepRefusals, TrafficCharts,
};
use servescope_output::views::{Role, traffic};
use servescope_settings::diagnostic::Diagnostic;
use servescope_traces::arrivals::trace_of;
use servescope_traces::bodies::{BodyNames, bodies_text};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::fit::{self, ArrivalModel, Fit, FitOptions};
use servescope_workload::formats::{self, BadRows, Format, Mapping, ReadOptions};
use servescope_workload::prompts::{Endpoint, Form};
use servescope_workload::transform::{self, StepEffect, TransformStep};
use wasm_bindgen::prelude::*;

use servescope_boundary::convert::{object, scenario_of, to_js_error, with_charts};
use servescope_boundary::trace_to_js::columns;
use servescope_boundary::types::{
    JsCallErrors, JsExport, JsFitReply, JsLengthsFile, JsPatch, JsPeeked, JsShaped, JsSourceInfo,
    JsStepKinds, JsStudioCharts, JsTraceColumns,
};

/// Bad rows that are listed one by one; all are counted.
const LISTED: usize = 100;
/// Most bytes of a file: its text and its requests have to stand beside it in 4 GiB.
const MOST_BYTES: f64 = 1_073_741_824.0;
/// Part of a file after which progress is reported again.
const TOLD_EVERY: f64 = 0.02;

/// Reads, changes, fits, shows and writes traffic. Its sources are files, or requests that a scenario generated; what
/// the steps make of them is the traffic that is simulated.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Studio {
    /// The file as far as it has come.
    bytes: Vec<u8>,
    /// What the steps start from.
    sources: Vec<LoadedTrace>,
    /// What the sources became; `None` without sources.
    traffic: Option<LoadedTrace>,
    /// Whether steps stand between the first source and the traffic.
    changed: bool,
    /// What is looked at: the traffic as the scenario scales it, or what the scenario generates.
    shown: Option<Arc<Trace>>,
    fitted: Option<Fit>,
    /// The twin of what was looked at when it was fitted, and the one that a single gamma distribution makes.
    twin: Option<Arc<Trace>>,
    plain_twin: Option<Arc<Trace>>,
}

#[wasm_bindgen]
impl Studio {
    /// A studio without sources.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for a file of `bytes`; what was fed of another is forgotten.
    ///
    /// # Errors
    /// That it is too large to be read here.
    pub fn reserve(&mut self, name: &str, bytes: f64) -> Result<(), JsCallErrors> {
        self.bytes = Vec::new();
        if bytes <= MOST_BYTES {
            self.bytes.reserve_exact(bytes as usize);
            return Ok(());
        }
        let message = format!("{name}: {bytes} bytes; at most {MOST_BYTES} can be read here");
        let error = Diagnostic::error("file_too_large", name, message).text("file", name);
        let mib = |bytes: f64| (bytes / 1_048_576.0).ceil();
        Err(to_js_error(vec![error.number("mib", mib(bytes)).number("max_mib", mib(MOST_BYTES))]))
    }

    /// Takes the next part of the file.
    pub fn feed(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Reads the file that was fed: as the only source, or as one more. The former sources stay when this one is bad.
    /// `mapping` says what the columns of a file of no known format are, or "" for one that is recognised; bad rows end the
    /// reading unless they are to be left out, and then the first are listed. Requests whose output length the file does not have
    /// get `any_output` tokens; 0 = the median of the file's. `progress` hears the part that is read.
    ///
    /// # Errors
    /// What is wrong with the file, with row and column.
    pub fn open(
        &mut self,
        name: &str,
        add: bool,
        mapping: &str,
        leave_out: bool,
        any_output: u32,
        progress: &Function,
    ) -> Result<JsSourceInfo, JsCallErrors> {
        let bytes = std::mem::take(&mut self.bytes);
        let mapping = (!mapping.is_empty()).then(|| Mapping::parse(mapping)).transpose();
        let mapping = mapping.map_err(|error| thrown_as(StepRefusal::of_mapping(name, &error)))?;
        let options = ReadOptions {
            mapping,
            tolerate: leave_out.then_some(LISTED),
            any_output_tokens: (any_output > 0).then_some(any_output),
            ..ReadOptions::default()
        };
        let mut reported = 0.0;
        let mut tell = |read: u64, all: u64| {
            let part = read as f64 / all.max(1) as f64;
            if part - reported >= TOLD_EVERY {
                reported = part;
                // What the page does with it is its own affair.
                let _ = progress.call1(&JsValue::NULL, &part.into());
            }
            ControlFlow::Continue(())
        };
        let reading = formats::read_with(&bytes, &options, &mut tell);
        let (loaded, bad) =
            LoadedTrace::of_reading(name, &bytes, reading).map_err(|error| to_js_error(vec![error]))?;
        Ok(self.take(loaded, &bad, add))
    }

    /// What could be mapped in the file that was fed: its columns with their first values, every role, and a guess.
    ///
    /// # Errors
    /// That the file is no table.
    pub fn peek(&mut self, name: &str) -> Result<JsPeeked, JsCallErrors> {
        let bytes = std::mem::take(&mut self.bytes);
        let columns =
            formats::columns(&bytes).map_err(|error| to_js_error(vec![Diagnostic::of_file(name, &error)]))?;
        Ok(object(&Peeked::of(&columns)).unchecked_into())
    }

    /// A scenario that draws its lengths from the file that was fed.
    ///
    /// # Errors
    /// The scenario's errors, or what is wrong with the file.
    pub fn lengths(&mut self, name: &str, scenario: &JsPatch) -> Result<JsLengthsFile, JsCallErrors> {
        let bytes = std::mem::take(&mut self.bytes);
        let of_file = LengthsFile::of(name, &bytes, &scenario_of(scenario)?);
        Ok(object(&of_file.map_err(|error| to_js_error(vec![error]))?).unchecked_into())
    }

    /// Takes what a scenario generates as the only source.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn materialize_generated(
        &mut self,
        name: &str,
        scenario: &JsPatch,
    ) -> Result<JsSourceInfo, JsCallErrors> {
        let trace = trace_of(&scenario_of(scenario)?, None).map_err(to_js_error)?;
        Ok(self.take(LoadedTrace::from_trace(name, Trace::clone(&trace)), &BadRows::default(), false))
    }

    fn take(&mut self, loaded: LoadedTrace, bad: &BadRows, add: bool) -> JsSourceInfo {
        let info = object(&SourceInfo::of_file(&loaded, bad));
        if !add {
            self.close();
        }
        self.traffic.get_or_insert_with(|| loaded.clone());
        self.sources.push(loaded);
        info.unchecked_into()
    }

    /// Forgets every source.
    pub fn close(&mut self) {
        *self = Self { bytes: std::mem::take(&mut self.bytes), ..Self::default() };
    }

    /// Puts the sources together by `join` and takes the steps, each as text. The former traffic stays when one cannot
    /// be taken.
    ///
    /// # Errors
    /// The step and the field, as the path `steps.N.FIELD`; the join is `join.FIELD`.
    pub fn apply_pipeline(&mut self, join: &str, steps: Vec<String>) -> Result<JsShaped, JsCallErrors> {
        let first = self.sources.first().ok_or_else(no_trace)?;
        let mut notes: Vec<StepEffect> = Vec::new();
        let mut trace = if self.sources.len() > 1 {
            let parts = self.sources.iter().map(|s| (s.name.clone(), Trace::clone(&s.trace))).collect();
            let refused = |error| thrown_as(StepRefusal::of_step("join", &error));
            let (trace, note) =
                transform::join(&TransformStep::parse(join).map_err(refused)?, parts).map_err(refused)?;
            notes.push(note);
            trace
        } else {
            Trace::clone(&first.trace)
        };
        let mut parsed = Vec::new();
        for (place, text) in steps.iter().enumerate() {
            let at = format!("steps.{place}");
            parsed.push(
                TransformStep::parse(text).map_err(|error| thrown_as(StepRefusal::of_step(&at, &error)))?,
            );
        }
        if !parsed.is_empty() {
            let (made, reported) = apply(&parsed, trace)?;
            trace = made;
            notes.extend(reported);
        }
        let name = self.sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(" + ");
        let traffic = LoadedTrace {
            format: first.format,
            warnings: self.sources.iter().flat_map(|s| s.warnings.iter().cloned()).collect(),
            ..LoadedTrace::from_trace(&name, trace)
        };
        let shaped = object(&Shaped::of(&traffic, &notes));
        self.changed = !notes.is_empty();
        self.traffic = Some(traffic);
        Ok(shaped.unchecked_into())
    }

    /// Looks at what a scenario simulates: generated requests, or the traffic as its settings scale it.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn select(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        let shown = trace_of(&scenario_of(scenario)?, self.traffic.as_ref()).map_err(to_js_error)?;
        if self.shown.as_deref() != Some(&*shown) {
            // A twin of something else is no twin.
            self.fitted = None;
            self.twin = None;
            self.plain_twin = None;
        }
        self.shown = Some(shown);
        Ok(())
    }

    /// The charts of what is looked at, its twins beside it, and those of the first source where steps changed it.
    ///
    /// # Errors
    /// When there is nothing to look at.
    pub fn charts(&self, columns: usize) -> Result<JsStudioCharts, JsCallErrors> {
        let mut traces = vec![(Role::Arrivals, self.shown()?)];
        traces.extend(self.plain_twin.as_deref().map(|twin| (Role::PlainTwin, twin)));
        traces.extend(self.twin.as_deref().map(|twin| (Role::Twin, twin)));
        let before = match self.sources.first() {
            Some(source) if self.changed => traffic(&[(Role::Arrivals, &*source.trace)], columns),
            _ => Vec::new(),
        };
        let reply = TrafficCharts { charts: traffic(&traces, columns), before };
        Ok(with_charts(&reply, [("charts", &reply.charts[..]), ("before", &reply.before[..])])
            .unchecked_into())
    }

    /// Fits distributions to what is looked at and draws twins of it: one by `model`, and one by every other for comparison.
    ///
    /// # Errors
    /// When there is nothing to look at, or no such model.
    pub fn fit(&mut self, model: &str, seed: f64) -> Result<JsFitReply, JsCallErrors> {
        let model = ArrivalModel::from_name(model).ok_or_else(|| unknown("model", model))?;
        let shown = Arc::clone(self.shown.as_ref().ok_or_else(no_trace)?);
        let fitted = self.fitted.take().unwrap_or_else(|| fit::fit(&shown, &FitOptions::default()));
        let seed = seed as u64;
        let twins: Vec<(ArrivalModel, Trace)> =
            ArrivalModel::ALL.into_iter().map(|model| (model, fitted.twin(seed, model))).collect();
        let reply = object(&FitReply::of(&fitted, &shown, &twins));
        for (drawn, twin) in twins {
            if drawn == model {
                self.twin = Some(Arc::new(twin));
            } else if drawn == ArrivalModel::Gamma {
                self.plain_twin = Some(Arc::new(twin));
            }
        }
        if model == ArrivalModel::Gamma {
            self.plain_twin = None;
        }
        self.fitted = Some(fitted);
        Ok(reply.unchecked_into())
    }

    /// Takes the twin as the only source.
    ///
    /// # Errors
    /// When there is none.
    pub fn use_twin(&mut self, name: &str) -> Result<JsSourceInfo, JsCallErrors> {
        let twin = self.twin.as_deref().cloned().ok_or_else(no_trace)?;
        Ok(self.take(LoadedTrace::from_trace(name, twin), &BadRows::default(), false))
    }

    /// The traffic, for the simulator, which scales it itself.
    ///
    /// # Errors
    /// When there is none.
    pub fn columns(&self) -> Result<JsTraceColumns, JsCallErrors> {
        self.traffic.as_ref().map(|traffic| columns(&traffic.trace)).ok_or_else(no_trace)
    }

    /// What is looked at as a file, and what of it the format does not hold.
    ///
    /// # Errors
    /// When there is nothing, or no such format to write.
    pub fn export(&self, format: &str) -> Result<JsExport, JsCallErrors> {
        let known = Format::from_name(format).ok_or_else(|| unknown("format", format))?;
        let text = formats::write(self.shown()?, known).ok_or_else(|| unknown("format", format))?;
        let lost: Array = formats::lost(self.shown()?, &text).into_iter().map(JsValue::from).collect();
        Ok(export(&text, lost))
    }

    /// The request bodies of what is looked at, a line each: their form, the path of OpenAI's API (`chat` or `completions`), the
    /// names of the base model and of adapters; sampling is the scenario's.
    ///
    /// # Errors
    /// What the system of the form does not take, that the file would be too large, or that there is nothing.
    pub fn bodies(
        &self,
        scenario: &JsPatch,
        form: &str,
        endpoint: &str,
        model: &str,
        adapter_name: &str,
    ) -> Result<JsExport, JsCallErrors> {
        let names = BodyNames {
            form: Form::from_name(form).ok_or_else(|| unknown("form", form))?,
            endpoint: if endpoint == "completions" { Endpoint::Completions } else { Endpoint::Chat },
            model: model.to_owned(),
            adapter_name: adapter_name.to_owned(),
        };
        let text = bodies_text(&scenario_of(scenario)?, self.shown()?, names).map_err(to_js_error)?;
        Ok(export(&text, Array::new()))
    }

    fn shown(&self) -> Result<&Trace, JsCallErrors> {
        self.shown.as_deref().ok_or_else(no_trace)
    }
}

/// A file, and what it does not hold.
fn export(text: &str, lost: Array) -> JsExport {
    let reply = Object::new();
    for (key, value) in [("bytes", Uint8Array::from(text.as_bytes()).into()), ("lost", JsValue::from(lost))] {
        // Setting a property of a fresh plain object cannot fail.
        let _ = Reflect::set(&reply, &key.into(), &value);
    }
    JsValue::from(reply).unchecked_into()
}

/// Names of the forms of request bodies.
#[wasm_bindgen]
pub fn body_forms() -> Vec<String> {
    Form::ALL.into_iter().map(|form| form.name().to_owned()).collect()
}

/// Takes the steps; an error is reported at the first step that cannot be taken.
fn apply(steps: &[TransformStep], trace: Trace) -> Result<(Trace, Vec<StepEffect>), JsCallErrors> {
    let source = trace.clone();
    transform::apply(steps, trace).map_err(|error| {
        let fails = |n: &usize| transform::apply(&steps[..*n], source.clone()).is_err();
        let place = (1..steps.len()).find(fails).unwrap_or(steps.len()) - 1;
        thrown_as(StepRefusal::of_step(&format!("steps.{place}"), &error))
    })
}

/// A rejection as it is thrown: the codes of steps are the studio's own.
fn thrown_as(refusal: StepRefusal) -> JsCallErrors {
    object(&StepRefusals { errors: [refusal] }).unchecked_into()
}

/// The table of steps, and of joins of several sources.
#[wasm_bindgen]
pub fn step_kinds() -> JsStepKinds {
    object(&StepKinds::all()).unchecked_into()
}

/// Names of the formats that can be written.
#[wasm_bindgen]
pub fn writable_formats() -> Vec<String> {
    Format::writable().map(|format| format.name().to_owned()).collect()
}

fn no_trace() -> JsCallErrors {
    to_js_error(vec![Diagnostic::error("no_trace", "", "there is no trace yet".to_owned())])
}

fn unknown(path: &str, name: &str) -> JsCallErrors {
    to_js_error(vec![
        Diagnostic::error("unknown_option", path, format!("there is no {path} {name}")).text("value", name),
    ])
}
