//! Choices of the gateway.

use super::{Choice, ChoiceId};
use crate::parameters::Id;

choices! {
    /// What stands in front of the engine.
    GatewayKind (ID = GatewayKind) {
        /// Nothing: requests join the engine's waiting queue at once.
        Direct = "direct",
        /// An admission proxy.
        Proxy = "proxy",
    }

    /// The window over which a quota per minute is counted.
    GatewayWindow (ID = GatewayWindow) {
        /// The last 60 s.
        Sliding = "sliding",
        /// Full minutes.
        Fixed = "fixed",
        /// Windows of 10 s, each with a sixth of the quota.
        Sub10s = "sub_10s",
        /// Windows of 1 s, each with a sixtieth of the quota.
        Sub1s = "sub_1s",
        /// A token bucket.
        Bucket = "bucket",
        /// The generic cell rate algorithm.
        Gcra = "gcra",
    }

    /// What becomes of a request whose client has used up its quota.
    OverQuota (ID = OverQuota) {
        /// It waits at the gateway.
        Wait = "wait",
        /// It is rejected with status 429.
        Refuse = "refuse",
    }

    /// The bound on the time that a request waits at the gateway.
    TimeoutKind (ID = TimeoutKind) {
        /// A fixed time.
        Fixed = "fixed",
        /// A multiple of the time to first token that is estimated on arrival.
        Estimated = "estimated",
    }

    /// How the gateway predicts output lengths.
    PredictKind (ID = PredictKind) {
        /// By the `max_tokens` of the request.
        MaxTokens = "max_tokens",
        /// By the true length.
        Oracle = "oracle",
        /// By the true length with bias and noise.
        Noisy = "noisy",
        /// By the 90th percentile of the client's finished outputs.
        P90 = "p90",
        /// By the 95th percentile of the client's finished outputs.
        P95 = "p95",
        /// By the mean of the client's finished outputs.
        Average = "average",
    }
}
