//! Usage by client, measured once for the charts of a run and again for other windows.

use servescope_engine::metrics::monitor::{Monitor, MonitorOptions};
use servescope_engine::queue::Client;

use super::Run;

/// Clients that charts distinguish; all others are one.
pub const CHARTED: usize = 7;
/// Windows of the charts.
pub const CHART_WINDOWS: usize = 120;

impl Run {
    /// What each client used, with windows for the charts over the whole run.
    pub fn monitor(&self, client: Client) -> &Monitor {
        self.monitors[client as usize].get_or_init(|| self.monitor_of(client, None, CHART_WINDOWS, CHARTED))
    }

    /// The same with other windows.
    pub fn monitor_of(
        &self,
        client: Client,
        window_us: Option<(f64, f64)>,
        windows: usize,
        most: usize,
    ) -> Monitor {
        let slo = self.scenario.slo();
        Monitor::measure(&self.report, &MonitorOptions { client, window_us, windows, most, slo })
    }
}
