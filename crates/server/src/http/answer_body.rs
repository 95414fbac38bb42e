//! The body of an answer: whole, or a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tokio::sync::mpsc;

use super::socket::Connection;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// All bytes, in memory.
    Whole(Full<Bytes>),
    /// Bytes that come, for as long as there is a sender.
    Stream { pieces: mpsc::Receiver<Bytes>, connection: Arc<Connection> },
}

impl AnswerBody {
    pub(super) fn is_stream(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }
}

impl Default for AnswerBody {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl<T: Into<Full<Bytes>>> From<T> for AnswerBody {
    fn from(bytes: T) -> Self {
        Self::Whole(bytes.into())
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Pin::new(bytes).poll_frame(cx),
            Self::Stream { pieces, connection } => {
                pieces.poll_recv(cx).map(|piece| {
                    if piece.is_none() {
                        connection.end_stream();
                    }
                    piece.map(|bytes| Ok(Frame::data(bytes)))
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_end_stream(),
            Self::Stream { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => bytes.size_hint(),
            Self::Stream { .. } => SizeHint::default(),
        }
    }
}
