//! A server that speaks TLS, with a certificate made for it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rcgen::generate_simple_self_signed;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use servescope_replay::{FailureKind, Target, TargetError, facts, replay};
use servescope_testkit::server::STREAM;

use crate::{limits, some};

/// An answer of four tokens.
const ANSWER: [&str; 6] = [
    r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"text":"b","finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"text":"c","finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"text":"d","finish_reason":"length"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":4}}"#,
    "[DONE]",
];

/// Starts a server that answers every request alike and closes the connection; its port, and its certificate in PEM.
fn start() -> (u16, String) {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust the certificate goes away.
            thread::spawn(move || answer(&mut StreamOwned::new(connection, stream)));
        }
    });
    (port, made.cert.pem())
}

fn answer(stream: &mut StreamOwned<ServerConnection, std::net::TcpStream>) -> std::io::Result<()> {
    let (mut asked, mut buffer) = (Vec::new(), [0; 1 << 12]);
    // A request ends with its body, whose last byte closes an object; one without a body with an empty line.
    while !asked.ends_with(b"\r\n\r\n") && !asked.ends_with(b"}") {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        asked.extend_from_slice(&buffer[..count]);
        if asked.starts_with(b"POST") && asked.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut buffer)?;
            asked.extend_from_slice(&buffer[..count]);
        }
    }
    if asked.starts_with(b"GET") {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
    } else {
        stream.write_all(STREAM.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n").as_bytes())?;
        for event in ANSWER {
            let text = format!("data: {event}\n\n");
            stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
            stream.flush()?;
        }
        stream.write_all(b"0\r\n\r\n")?;
    }
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn a_server_is_asked_over_tls_where_its_certificate_is_trusted() {
    let (port, pem) = start();
    let (_, plan) = some(2);
    let target = || Target::new(&format!("https://localhost:{port}/v1"), &[]).unwrap();
    let trusting = target().trusting(pem.as_bytes()).unwrap();
    assert_eq!(facts(&trusting, None).map(|facts| facts.model), Ok(None));
    let outcome = replay(&trusting, &plan, &limits(), None, false, |_, _| {});
    assert_eq!(outcome.sent.len(), 2);
    assert!(outcome.sent.iter().all(|sent| sent.failure.is_none()), "{:?}", outcome.sent);
    // Mozilla's authorities do not know it, and no other name is in it.
    assert!(facts(&target(), None).unwrap_err().contains("https://localhost"));
    let outcome = replay(&target(), &plan, &limits(), None, false, |_, _| {});
    let kind = |sent: &servescope_replay::Sent| sent.failure.as_ref().map(|failure| failure.kind);
    assert!(outcome.sent.iter().all(|sent| kind(sent) == Some(FailureKind::Connect)), "{:?}", outcome.sent);
    let elsewhere = Target::new(&format!("https://127.0.0.1:{port}"), &[]).unwrap();
    assert!(facts(&elsewhere.trusting(pem.as_bytes()).unwrap(), None).is_err());
    assert!(matches!(target().trusting(b"none"), Err(TargetError::Certificates(_))));
}
