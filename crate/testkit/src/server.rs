//! A small HTTP/1.1 server on loopback, so that a client can be tried against answers of any kind.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A connection on which nothing comes for so long is closed.
const IDLE: Duration = Duration::from_secs(30);

/// The header of a stream of events in chunks.
pub const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// Its path.
    pub path: String,
    /// Its body.
    pub body: String,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Answers each request by `answer`, which writes to the connection and says whether it stays open.
    ///
    /// # Panics
    /// Where loopback has no free port.
    pub fn start(
        answer: impl Fn(&ReceivedRequest, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("the port is known");
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, answer) = (Arc::clone(&is_over), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let answer = Arc::clone(&answer);
                // A client that goes away ends the connection.
                thread::spawn(move || drop(serve(stream, &*answer)));
            }
        });
        Self { address, is_over }
    }

    /// Its address, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&ReceivedRequest, &mut TcpStream) -> io::Result<bool>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let Some(asked) = next(&mut reader)? else { return Ok(()) };
        if !answer(&asked, &mut stream)? {
            return stream.shutdown(Shutdown::Both);
        }
    }
}

fn next(reader: &mut BufReader<TcpStream>) -> io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(ReceivedRequest { path, body: String::from_utf8_lossy(&body).into_owned() }))
}

/// Writes a whole answer.
///
/// # Errors
/// Where the client is gone.
pub fn whole(stream: &mut TcpStream, status: &str, mime: &str, body: &str) -> io::Result<bool> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {mime}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(true)
}

/// Writes one event of a stream in chunks.
///
/// # Errors
/// Where the client is gone.
pub fn event(stream: &mut TcpStream, data: &str) -> io::Result<()> {
    let text = format!("data: {data}\n\n");
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Ends a stream in chunks.
///
/// # Errors
/// Where the client is gone.
pub fn end(stream: &mut TcpStream) -> io::Result<bool> {
    stream.write_all(b"0\r\n\r\n")?;
    Ok(true)
}
