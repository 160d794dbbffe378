//! The built page on this machine's loopback address.

use std::process::Command;

use crate::process::Outcome;
use crate::project::Project;

/// Builds the page and serves it until it is stopped. Vite's server prints the address; it takes the next
/// port, and says so, where the port is taken.
pub(crate) fn run(project: &Project, port: Option<u16>) -> Outcome {
    project.page()?;
    let mut server = project.node_tool("vite")?;
    server.arg("preview");
    if let Some(port) = port {
        server.args(["--port", &port.to_string()]);
    }
    become_it(&mut server)
}

/// The server replaces this process: stopping one stops the other.
#[cfg(unix)]
pub(crate) fn become_it(server: &mut Command) -> Outcome {
    use std::os::unix::process::CommandExt;
    let error = server.exec();
    Err(format!("vite: {error}"))
}

#[cfg(not(unix))]
pub(crate) fn become_it(server: &mut Command) -> Outcome {
    crate::process::run(server)
}
