//! gRPC servers in this process, for the fake engines.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::task::AbortOnDropHandle;

/// Serves `answer` on a free port, over TLS if a certificate is given.
pub(crate) async fn serve<A, F>(
    tls: Option<TlsAcceptor>,
    answer: A,
) -> (SocketAddr, AbortOnDropHandle<()>)
where
    A: Fn(hyper::Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<hyper::Response<Body>, Infallible>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (service, tls) = (service_fn(answer.clone()), tls.clone());
            tokio::spawn(async move {
                let http2 = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                match tls {
                    None => http2.serve_connection(TokioIo::new(socket), service).await,
                    // A client that does not trust the certificate disconnects.
                    Some(tls) => match tls.accept(socket).await {
                        Ok(socket) => http2.serve_connection(TokioIo::new(socket), service).await,
                        Err(_) => Ok(()),
                    },
                }
            });
        }
    });
    (place, AbortOnDropHandle::new(serving))
}

/// A self-signed certificate for 127.0.0.1.
pub(crate) struct Certificate {
    folder: TempDir,
}

impl Certificate {
    /// Makes one; prints a line and returns `None` if there is no openssl.
    pub(crate) fn make() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let made = Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            ])
            .args([
                "-subj",
                "/CN=127.0.0.1",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: TLS; openssl, which makes the certificate, is not installed");
            return None;
        }
        Some(Self { folder })
    }

    /// The path of the certificate.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// The acceptor of a server with this certificate.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::from_pem_file(self.folder.path().join("key.pem")).unwrap();
        let certificate = CertificateDer::from_pem_file(self.path()).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Arc::new(config).into()
    }
}
