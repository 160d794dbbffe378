//! The module in a browser: the pinned digests, the boundary's objects and the types that describe them.
// Linted natively with everything else; run in a browser only.
#![cfg(any(target_arch = "wasm32", clippy))]

use serde_json::{Value, json};
use servescope_studio::{Studio, fit_profile, step_kinds};
use servescope_web::{
    ChartSurface, Simulator, command, encode_link, page_schema, parse_link, published_figures,
    relative_errors, resolve, take_table,
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn js<T: JsCast>(value: &Value) -> T {
    js_sys::JSON::parse(&value.to_string()).expect("JSON").unchecked_into()
}

fn json_of(value: impl Into<JsValue>) -> Value {
    serde_wasm_bindgen::from_value(value.into()).expect("a plain object")
}

fn options() -> Value {
    json!({"columns": 300, "window": null, "split_by": "adapter", "in_sight": null})
}

fn simulate(simulator: &mut Simulator, scenario: &Value) -> (Value, js_sys::Array) {
    simulator.begin(&js(scenario)).unwrap_or_else(|e| panic!("{:?}", json_of(e)));
    while simulator.advance() < 1.0 {}
    let reply: JsValue =
        simulator.finish(&js(&options())).unwrap_or_else(|e| panic!("{:?}", json_of(e))).into();
    let field = |name: &str| js_sys::Reflect::get(&reply, &name.into()).expect("a field");
    (json_of(field("summary")), field("charts").unchecked_into())
}

const LLAMA_2_7B: &str = include_str!("../../../static/profiles/a100_Llama-2-7b-hf.txt");
const PHI_2: &str = include_str!("../../../static/profiles/a40_phi-2.txt");

#[wasm_bindgen_test]
fn a_run_without_its_operator_table_asks_for_it_and_takes_no_other() {
    let mut simulator = Simulator::new();
    let timed = json!({
        "scheduler.kind": "vllm_v1",
        "cost.kind": "profile",
        "fleet.gpu": "a40",
        "fleet.model": "phi-2",
        "workload.duration_s": 20,
    });
    let error = |thrown: JsValue| json_of(thrown)["errors"][0].clone();
    let asked = error(simulator.begin(&js(&timed)).expect_err("no table yet").into());
    assert_eq!((&asked["code"], &asked["params"]["file"]), (&json!("needs_table"), &json!("a40_phi-2")));
    for (file, text) in [("a40_phi-2", LLAMA_2_7B), ("a40_phi-2", ""), ("a40_unknown", PHI_2)] {
        let refused = error(take_table(file, text).expect_err("another table").into());
        assert_eq!(refused["code"], "other_table");
    }
    assert!(simulator.begin(&js(&timed)).is_err());
    assert!(take_table("a40_phi-2", PHI_2).is_ok());
    let (summary, _) = simulate(&mut simulator, &timed);
    assert!(summary["requests"]["completed"].as_f64() > Some(0.0));
}

#[wasm_bindgen_test]
fn digests_are_those_of_the_terminal() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/digests.json")).expect("a list");
    let mut simulator = Simulator::new();
    assert!(take_table("a100_Llama-2-7b-hf", LLAMA_2_7B).is_ok());
    for case in &cases {
        let (summary, _) = simulate(&mut simulator, &case["scenario"]);
        assert_eq!(summary["digest"], case["digest"], "{}", case["name"]);
    }
}

/// Keys of a type of the boundary, at its first level.
fn declared(name: &str) -> Vec<String> {
    let text = concat!(
        include_str!("../../boundary/src/boundary.d.ts"),
        include_str!("../../boundary/src/by_hand.d.ts")
    );
    let start = [format!("export type {name} = {{"), format!("export interface {name} {{")]
        .iter()
        .find_map(|head| text.find(head))
        .unwrap_or_else(|| panic!("no type {name}"));
    let body = &text[start + text[start..].find('{').expect("a body") + 1..];
    let (mut depth, mut key, mut keys) = (0, String::new(), Vec::new());
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = &comment[comment.find("*/").expect("a closed comment") + 2..];
            continue;
        }
        match c {
            '}' if depth == 0 => break,
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth -= 1,
            ':' if depth == 0 => keys.push(key.trim().trim_end_matches('?').to_owned()),
            ';' | ',' | '\n' if depth == 0 => key.clear(),
            _ if depth == 0 => key.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    keys.retain(|k| !k.is_empty());
    keys.sort();
    keys.dedup();
    keys
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
    keys.sort();
    keys
}

#[wasm_bindgen_test]
fn objects_have_the_declared_keys() {
    let mut simulator = Simulator::new();
    let (summary, charts) = simulate(&mut simulator, &json!({}));
    assert_eq!(keys(&summary), declared("Summary"));
    assert_eq!(keys(&summary["ttft_s"]), declared("Distribution"));
    assert_eq!(keys(&summary["per_user"][0]), declared("GroupRow"));
    assert_eq!(keys(&json_of(page_schema())), declared("Schema"));
    assert_eq!(keys(&json_of(resolve(&js(&json!({})), None))), declared("Resolution"));
    assert_eq!(keys(&json_of(simulator.request(0).ok().expect("a request"))), declared("RequestFacts"));
    let chart = charts.get(0);
    let names = |value: &JsValue| {
        let mut names: Vec<String> = js_sys::Object::keys(value.unchecked_ref::<js_sys::Object>())
            .iter()
            .filter_map(|k| k.as_string())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&chart), declared("ChartData"));
    let series: js_sys::Array =
        js_sys::Reflect::get(&chart, &"series".into()).expect("series").unchecked_into();
    assert_eq!(names(&series.get(0)), declared("Series"));
    assert_eq!(charts.length(), 16);
    let reply = published_figures("S1", "n");
    let figures = js_sys::Reflect::get(&reply, &"figures".into()).expect("figures");
    let figure = &json_of(figures)[0];
    assert_eq!(keys(figure), declared("PublishedFigure"));
    assert_eq!(keys(&figure["points"][0]), declared("PublishedPoint"));
    assert_eq!(keys(&figure["ours"]), declared("PublishedErrors"));
    assert_eq!(keys(&json_of(relative_errors(&[1.1], &[1.0]))), declared("RelativeErrors"));
    assert!(relative_errors(&[], &[]).is_null());
    let fleet = json!({"scheduler.kind": "vllm", "fleet.replicas": 2});
    let (summary, charts) = simulate(&mut simulator, &fleet);
    assert!(summary["fleet"].is_null() && summary["gpu"]["busy"].is_number());
    let own = json_of(simulator.fleet().ok().expect("a fleet"));
    assert_eq!(keys(&own), declared("FleetSummary"));
    assert_eq!(keys(&own["per_replica"][0]), declared("ReplicaRow"));
    assert_eq!(charts.length(), 16);
    let events = simulator.export("events.csv").ok().expect("a file");
    assert!(events.starts_with("time_s,event,request,replica,attempt,reason\n"));
    let options = |client: &str| {
        let options =
            json!({"client": client, "sort": "service", "descending": true, "rows": 3, "window": null});
        js(&options)
    };
    let monitor = simulator.monitor(&options("adapter")).ok().expect("a run");
    assert_eq!(names(&monitor), declared("MonitorView"));
    assert!(simulator.monitor(&options("unknown")).is_err());
    assert!(simulator.export("clients.csv").ok().expect("a file").starts_with("client,id,offered,"));
}

fn open(studio: &mut Studio, name: &str, text: &str) -> Result<Value, Value> {
    open_as(studio, (name, text), "", false)
}

fn open_as(
    studio: &mut Studio,
    (name, text): (&str, &str),
    mapping: &str,
    leave_out: bool,
) -> Result<Value, Value> {
    studio.reserve(name, text.len() as f64).map_err(json_of)?;
    studio.feed(text.as_bytes());
    let deaf = js_sys::Function::new_no_args("");
    studio.open(name, false, mapping, leave_out, 0, &deaf).map(json_of).map_err(json_of)
}

#[wasm_bindgen_test]
fn a_file_goes_from_the_studio_to_the_simulator() {
    let mut studio = Studio::new();
    let info =
        open(&mut studio, "t.csv", "arrival_s,input_tokens,output_tokens\n0,1,2\n0.5,3,4\n").expect("a file");
    assert_eq!(keys(&info), declared("SourceInfo"));
    let columns = studio.columns().ok().expect("columns");
    let mut names: Vec<String> = js_sys::Object::keys(columns.unchecked_ref::<js_sys::Object>())
        .iter()
        .filter_map(|k| k.as_string())
        .collect();
    names.sort();
    assert_eq!(names, declared("TraceColumns"));
    let mut simulator = Simulator::new();
    simulator.load_columns("t.csv", &columns).ok().expect("sound columns");
    let (summary, _) = simulate(&mut simulator, &json!({}));
    assert_eq!(summary["requests"]["offered"], json!(2));

    js_sys::Reflect::set(&columns, &"user".into(), &JsValue::NULL).expect("a plain object");
    let thrown = simulator.load_columns("t.csv", &columns).expect_err("an error");
    assert_eq!(json_of(thrown)["errors"][0]["code"], "bad_columns");
}

#[wasm_bindgen_test]
fn other_tables_are_mapped_and_bad_rows_are_told() {
    let mut studio = Studio::new();
    let text = "ts,prompt,gen\n0,5,7\n9,no,7\n20,6,8\n";
    studio.feed(text.as_bytes());
    let peeked = json_of(studio.peek("mine.csv").ok().expect("a table"));
    assert_eq!(keys(&peeked), declared("Peeked"));
    let mapping = "arrival=ts:ms,input=prompt,output=gen";
    let file = ("mine.csv", text);
    let refused = open_as(&mut studio, file, mapping, false).expect_err("a bad row");
    assert_eq!(refused["errors"][0]["params"]["row"], json!(3));
    let info = open_as(&mut studio, file, mapping, true).expect("two good rows");
    assert_eq!((&info["requests"], &info["bad_rows"]["total"]), (&json!(2), &json!(1)));
    let row = &info["bad_rows"]["listed"][0];
    assert_eq!((&row["row"], &row["column"]), (&json!(3), &json!("prompt")));
    let refused = open_as(&mut studio, file, "arrival=when", false).expect_err("no such mapping");
    assert_eq!(refused["errors"][0]["path"], json!("mine.csv"));
}

#[wasm_bindgen_test]
fn the_studio_changes_fits_and_writes_what_it_holds() {
    let mut studio = Studio::new();
    studio.materialize_generated("frozen", &js(&json!({"workload.rate_rps": 20}))).ok().expect("a source");
    let steps = ["window:start_s=10,end_s=200", "thin:keep=0.5"].map(String::from).to_vec();
    let shaped = json_of(studio.apply_pipeline("concat", steps).ok().expect("sound steps"));
    assert_eq!(keys(&shaped), declared("Shaped"));
    assert_eq!(keys(&shaped["notes"][1]), declared("StepNote"));
    assert_eq!(keys(&shaped["notes"][1]["facts"][0]), declared("Fact"));
    assert_eq!(keys(&shaped["notes"][1]["after"]), declared("TraceShape"));
    let refused = |studio: &mut Studio, step: &str| {
        json_of(
            studio
                .apply_pipeline("concat", vec!["sort".to_owned(), step.to_owned()])
                .err()
                .expect("a refusal"),
        )
    };
    let error = &refused(&mut studio, "thin:keep=2")["errors"][0];
    assert_eq!(keys(error), declared("Diagnostic"));
    assert_eq!(
        (error["code"].as_str(), error["path"].as_str()),
        (Some("step.out_of_range"), Some("steps.1.keep"))
    );
    let error = &refused(&mut studio, "window:start_s=5000")["errors"][0];
    assert_eq!(
        (error["code"].as_str(), error["path"].as_str()),
        (Some("step.nothing_left"), Some("steps.1"))
    );

    studio.select(&js(&json!({}))).ok().expect("traffic");
    let fitted = json_of(studio.fit("bursts", 7.0).ok().expect("a fit"));
    assert_eq!(keys(&fitted), declared("FitReply"));
    assert_eq!(keys(&fitted["models"][0]), declared("FitRow"));
    let charts: JsValue = studio.charts(300).ok().expect("charts").into();
    let of = |key: &str| js_sys::Array::from(&js_sys::Reflect::get(&charts, &key.into()).expect("charts"));
    assert_eq!((of("charts").length(), of("before").length()), (9, 9));
    assert!(studio.export("mooncake").is_ok());
    assert!(studio.export("pigeon").is_err());
    assert!(studio.use_twin("twin").is_ok());

    let kinds = json_of(step_kinds());
    assert_eq!(keys(&kinds), declared("StepKinds"));
    assert_eq!(keys(&kinds["steps"][0]), declared("StepKind"));
    assert_eq!(keys(&kinds["steps"][0]["fields"][0]), declared("StepField"));
}

#[wasm_bindgen_test]
fn a_profile_goes_from_the_studio_to_the_simulator() {
    let chosen = json!({
        "files": [{"name": "own.txt", "text": LLAMA_2_7B}],
        "gpu": "", "model": "", "layers": 0,
    });
    let fitted = json_of(fit_profile(&js(&chosen)).ok().expect("a profile"));
    assert_eq!(keys(&fitted), declared("FittedProfile"));
    let mut simulator = Simulator::new();
    let text = fitted["text"].as_str().expect("a text");
    assert!(simulator.load_profile("own.txt", text).is_ok());
    let timed = json!({"scheduler.kind": "vllm_v1", "cost.kind": "profile", "workload.duration_s": 20});
    let (summary, _) = simulate(&mut simulator, &timed);
    assert!(summary["requests"]["completed"].as_f64() > Some(0.0));
    assert!(simulator.load_profile("bad.txt", "rubbish").is_err());
}

#[wasm_bindgen_test]
fn failures_are_thrown_as_objects() {
    let mut simulator = Simulator::new();
    let thrown = simulator.begin(&js(&json!({"workload.rate_rps": -1}))).expect_err("an error");
    let error = &json_of(thrown)["errors"][0];
    assert_eq!(keys(error), declared("Diagnostic"));
    assert_eq!(
        (error["code"].as_str(), error["path"].as_str()),
        (Some("out_of_range"), Some("workload.rate_rps"))
    );
    assert_eq!(error["params"]["min"], json!(0.001));
    let thrown = simulator.begin(&js(&json!({"workload": {"rate": 3}}))).expect_err("an error");
    assert_eq!(json_of(thrown)["errors"][0]["code"], "unknown_parameter");
    let bad = "arrival_s,input_tokens,output_tokens\n0,x,2\n";
    let thrown = open(&mut Studio::new(), "x.csv", bad).expect_err("an error");
    assert_eq!(thrown["errors"][0]["params"]["row"], json!(2));
}

#[wasm_bindgen_test]
fn links_and_commands_agree() {
    let scenario = json!({"workload.rate_rps": 3, "workload.adapters.ranks": [64, 32]});
    let link = encode_link(&js(&scenario)).ok().expect("a link");
    assert_eq!(link, "v=4&R=3&ranks=64,32");
    assert_eq!(json_of(parse_link(&link))["scenario"], scenario);
    let command = command(&js(&scenario), "").ok().expect("a command");
    assert_eq!(command, "servescope simulate --set workload.rate_rps=3 --set workload.adapters.ranks=64,32");
}

#[wasm_bindgen_test]
fn every_chart_draws_without_touching_the_document() {
    let document = web_sys::window().and_then(|w| w.document()).expect("a document");
    let canvas: web_sys::HtmlCanvasElement =
        document.create_element("canvas").expect("a canvas").unchecked_into();
    let spans = || document.query_selector_all("span").expect("a list").length();
    let before = spans();
    let mut simulator = Simulator::new();
    let (_, charts) = simulate(&mut simulator, &json!({"workload.arrivals.cv": 3}));
    let surface = ChartSurface::new(canvas);
    for chart in charts.iter() {
        let name = js_sys::Reflect::get(&chart, &"name".into()).expect("a name");
        let frame =
            surface.draw(chart.unchecked_ref(), chart.unchecked_ref(), false, 520.0, 200.0, 2.0, false);
        let frame = json_of(frame.unwrap_or_else(|e| panic!("{name:?}: {:?}", json_of(e))));
        assert_eq!(keys(&frame), declared("PlotFrame"));
    }
    assert_eq!(spans(), before);
}
