//! Which server: its address, and whether it may be asked.

use std::net::IpAddr;

use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// A server that may be asked.
#[derive(Debug, Clone)]
pub struct Target {
    base: String,
    roots: RootCerts,
}

/// Why an address is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is no address.
    #[error("--url {0}: no address; expected is http://HOST:PORT or https://HOST:PORT")]
    Malformed(String),
    /// Its scheme is neither http nor https.
    #[error("--url {0}: only http:// and https:// are sent")]
    Scheme(String),
    /// It has parts that a server's address does not have.
    #[error("--url {0}: a query, a fragment or a user has no place in the address of a server")]
    Parts(String),
    /// Its host is not this machine and was not allowed.
    #[error("--url: {0} is not this machine; add --allow-host {0} if load may be sent there")]
    Host(String),
    /// A file of certificates has none.
    #[error("--ca-file: {0}")]
    Certificates(String),
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
        let scheme = match uri.scheme_str() {
            Some(scheme @ ("http" | "https")) => scheme,
            Some(_) => return Err(TargetError::Scheme(url.to_owned())),
            None => return Err(malformed()),
        };
        let authority = uri.authority().ok_or_else(malformed)?;
        let host = authority.host().to_ascii_lowercase();
        // A port that is no number is not rejected by the parser of addresses.
        let rest = authority.as_str().get(authority.host().len()..).unwrap_or_default();
        if host.is_empty() || !(rest.is_empty() || authority.port_u16().is_some_and(|port| port > 0)) {
            return Err(malformed());
        }
        if !is_loopback(&host) && !allowed.iter().any(|name| name.eq_ignore_ascii_case(&host)) {
            return Err(TargetError::Host(host));
        }
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        Ok(Self { base: format!("{scheme}://{authority}{path}"), roots: RootCerts::WebPki })
    }

    /// The same, where only these certificates, in PEM, vouch for the server, in place of the authorities of Mozilla's list.
    ///
    /// # Errors
    /// [`TargetError::Certificates`] where there is none, or one that is damaged.
    pub fn trusting(self, pem: &[u8]) -> Result<Self, TargetError> {
        let certificate = |item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(TargetError::Certificates(format!("{error}")))),
        };
        let certificates: Vec<Certificate<'static>> =
            parse_pem(pem).filter_map(certificate).collect::<Result<_, _>>()?;
        if certificates.is_empty() {
            return Err(TargetError::Certificates("no certificate in PEM".to_owned()));
        }
        Ok(Self { roots: RootCerts::new_with_certs(&certificates), ..self })
    }

    /// The authorities that the client of this server trusts.
    pub(crate) fn tls(&self) -> TlsConfig {
        TlsConfig::builder().root_certs(self.roots.clone()).build()
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
            ("https://localhost/v1", "https://localhost"),
        ] {
            assert_eq!(Target::new(url, &[]).map(|target| target.at("/x")).unwrap(), format!("{base}/x"));
        }
        let message = |url: &str| Target::new(url, &["gpu7".to_owned()]).unwrap_err().to_string();
        assert!(Target::new("http://GPU7:8000", &["gpu7".to_owned()]).is_ok());
        assert!(message("http://gpu8:8000").contains("--allow-host gpu8"));
        assert!(message("http://10.0.0.1").contains("--allow-host 10.0.0.1"));
        assert!(message("http://127.0.0.1.example.org").contains("--allow-host"));
        assert!(message("https://gpu8").contains("--allow-host gpu8"));
        assert!(message("ftp://localhost").contains("only http://"));
        for pem in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"] {
            let target = Target::new("https://localhost", &[]).unwrap();
            assert!(target.trusting(pem.as_bytes()).unwrap_err().to_string().contains("--ca-file"), "{pem}");
        }
        for url in ["", "localhost:8000", "http://", "http://localhost:port", "http://localhost:0", "/v1"] {
            assert!(message(url).contains("http"), "{url}");
        }
        assert!(message("http://localhost@example.org").contains("no place"));
        assert!(message("http://localhost/?a=b").contains("no place"));
    }
}
