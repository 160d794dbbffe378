//! Which server: its address, and whether it may be asked.

use std::net::IpAddr;

use ureq::http::Uri;

/// A server that may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    base: String,
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is no address.
    #[error("--url {0}: no address; expected is http://HOST:PORT")]
    Malformed(String),
    /// Its scheme is not http.
    #[error("--url {0}: only http:// is sent; let a proxy on this machine add TLS")]
    Scheme(String),
    /// It has parts that a server's address does not have.
    #[error("--url {0}: a query, a fragment or a user has no place in the address of a server")]
    Parts(String),
    /// Its host is not this machine and was not allowed.
    #[error("--url: {0} is not this machine; add --allow-host {0} if load may be sent there")]
    Host(String),
}

impl Target {
    /// The server at `url`, which may end in `/v1`. Hosts other than this machine are those of `allowed`.
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn new(url: &str, allowed: &[String]) -> Result<Self, TargetError> {
        let malformed = || TargetError::Malformed(url.to_owned());
        if url.contains('#') || url.contains('?') || url.contains('@') {
            return Err(TargetError::Parts(url.to_owned()));
        }
        let uri: Uri = url.parse().map_err(|_| malformed())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some(_) => return Err(TargetError::Scheme(url.to_owned())),
            None => return Err(malformed()),
        }
        let authority = uri.authority().ok_or_else(malformed)?;
        let host = authority.host().to_ascii_lowercase();
        // A port that is no number is not refused by the parser of addresses.
        let rest = authority.as_str().get(authority.host().len()..).unwrap_or_default();
        if host.is_empty() || !(rest.is_empty() || authority.port_u16().is_some_and(|port| port > 0)) {
            return Err(malformed());
        }
        if !is_loopback(&host) && !allowed.iter().any(|name| name.eq_ignore_ascii_case(&host)) {
            return Err(TargetError::Host(host));
        }
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        Ok(Self { base: format!("http://{authority}{path}") })
    }

    /// The address of a path that begins with `/`.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Whether a host of an address is this machine, whatever its resolver says.
fn is_loopback(host: &str) -> bool {
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_unless_another_is_allowed() {
        for (url, base) in [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://localhost:8000/", "http://localhost:8000"),
            ("http://[::1]:8000/v1", "http://[::1]:8000"),
            ("http://127.9.9.9/vllm/v1/", "http://127.9.9.9/vllm"),
        ] {
            assert_eq!(Target::new(url, &[]).map(|target| target.at("/x")), Ok(format!("{base}/x")), "{url}");
        }
        let told = |url: &str| Target::new(url, &["gpu7".to_owned()]).unwrap_err().to_string();
        assert!(Target::new("http://GPU7:8000", &["gpu7".to_owned()]).is_ok());
        assert!(told("http://gpu8:8000").contains("--allow-host gpu8"));
        assert!(told("http://10.0.0.1").contains("--allow-host 10.0.0.1"));
        assert!(told("http://127.0.0.1.example.org").contains("--allow-host"));
        assert!(told("https://localhost").contains("only http://"));
        for url in ["", "localhost:8000", "http://", "http://localhost:port", "http://localhost:0", "/v1"] {
            assert!(told(url).contains("http"), "{url}");
        }
        assert!(told("http://localhost@example.org").contains("no place"));
        assert!(told("http://localhost/?a=b").contains("no place"));
    }
}
