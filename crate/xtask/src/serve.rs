//! The page on this machine's loopback address, served by Vite: as it is built, or from its sources.

use std::process::Command;

use crate::page;
use crate::process::TaskResult;
use crate::project::Project;

/// Builds the page and serves it until it is stopped. Vite's server prints the address; it takes the next
/// port, and says so, where the port is taken.
pub(crate) fn built(project: &Project, port: Option<u16>) -> TaskResult {
    page::build(project)?;
    serve(project, &["preview"], port)
}

/// Vite's development server. Its watcher sees the Rust sources too (`www/vite.config.ts`): a change of them rebuilds the
/// package with `cargo xtask package`, and the page reloads.
pub(crate) fn in_development(project: &Project, port: Option<u16>) -> TaskResult {
    page::package(project)?;
    serve(project, &[], port)
}

fn serve(project: &Project, arguments: &[&str], port: Option<u16>) -> TaskResult {
    let mut server = project.node_tool("vite")?;
    server.args(arguments);
    if let Some(port) = port {
        server.args(["--port", &port.to_string()]);
    }
    become_it(&mut server)
}

/// The server replaces this process: stopping one stops the other.
#[cfg(unix)]
fn become_it(server: &mut Command) -> TaskResult {
    use std::os::unix::process::CommandExt;
    let error = server.exec();
    Err(format!("vite: {error}"))
}

#[cfg(not(unix))]
fn become_it(server: &mut Command) -> TaskResult {
    crate::process::run(server)
}
