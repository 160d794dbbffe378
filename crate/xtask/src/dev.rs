//! Vite's development server. Its watcher sees the Rust sources too (`www/vite.config.ts`): a change of them rebuilds the
//! package with `cargo xtask package`, and the page reloads.

use crate::package;
use crate::process::TaskResult;
use crate::project::Project;
use crate::serve::become_it;

/// Serves until it is stopped.
pub(crate) fn run(project: &Project, port: Option<u16>) -> TaskResult {
    package::build(project)?;
    let mut server = project.node_tool("vite")?;
    if let Some(port) = port {
        server.args(["--port", &port.to_string()]);
    }
    become_it(&mut server)
}
