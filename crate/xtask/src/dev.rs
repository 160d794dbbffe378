//! Vite's development server, and a rebuilt wasm package whenever a Rust source changes.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::process::Outcome;
use crate::project::Project;
use crate::{generate, wasm};

const PAUSE: Duration = Duration::from_millis(500);

/// Serves until the server ends. The page's own sources are watched by Vite, and so is the package.
pub(crate) fn run(project: &Project, port: Option<u16>) -> Outcome {
    project.package()?;
    let mut command = project.node_tool("vite")?;
    if let Some(port) = port {
        command.args(["--port", &port.to_string()]);
    }
    let mut server = command.spawn().map_err(|error| format!("vite: {error}"))?;
    let outcome = watch(project, &mut server);
    // A server that has ended by itself cannot be ended again.
    let _ = server.kill();
    outcome
}

fn watch(project: &Project, server: &mut Child) -> Outcome {
    let mut seen = times(project.root());
    loop {
        thread::sleep(PAUSE);
        if let Some(status) = server.try_wait().map_err(|error| format!("vite: {error}"))? {
            return if status.success() { Ok(()) } else { Err(format!("vite: {status}")) };
        }
        let now = times(project.root());
        if now == seen {
            continue;
        }
        seen = now;
        if let Err(message) = generate::write(project).and_then(|()| wasm::build(project)) {
            eprintln!("{message}; the page keeps the former package");
        }
    }
}

/// When each source was last written.
fn times(root: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    wasm::sources(root)
        .into_iter()
        .map(|file| {
            let time = file.metadata().and_then(|metadata| metadata.modified()).ok();
            (file, time)
        })
        .collect()
}
