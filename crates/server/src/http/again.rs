//! A future that wakes itself is polled again at once.
//!
//! Whatever one task passes from one part of it to another wakes the task: a
//! body that hyper hands to who answers does, and so do the ends of a run's
//! streams. The runtime would put the task at the end of its queue and wake
//! another thread, which finds nothing to do, on a core that others need.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Polls in a row, the first included: then others have their turn.
const MOST: usize = 2;

const WAITING: u8 = 0;
const POLLED: u8 = 1;
/// Woken while it is polled.
const WOKEN: u8 = 2;

/// The future, and how it is woken. To be polled by one task alone.
#[derive(Debug)]
pub(super) struct Again<F> {
    future: F,
    /// With the first poll.
    bell: Option<(Arc<Bell>, Waker)>,
}

#[derive(Debug)]
struct Bell {
    state: AtomicU8,
    task: Waker,
}

impl<F: Future + Unpin> Again<F> {
    pub(super) fn new(future: F) -> Self {
        Self { future, bell: None }
    }

    /// The future itself.
    pub(super) fn inner(&mut self) -> &mut F {
        &mut self.future
    }
}

impl<F: Future + Unpin> Future for Again<F> {
    type Output = F::Output;

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Self::Output> {
        let Self { future, bell } = &mut *self;
        let (bell, waker) = bell.get_or_insert_with(|| {
            let task = cx.waker().clone();
            let state = AtomicU8::new(WAITING);
            let bell = Arc::new(Bell { state, task });
            (Arc::clone(&bell), bell.into())
        });
        debug_assert!(bell.task.will_wake(cx.waker()), "another task's");
        let mut cx = Context::from_waker(waker);
        for _ in 0..MOST {
            bell.state.store(POLLED, Ordering::SeqCst);
            let polled = Pin::new(&mut *future).poll(&mut cx);
            let before = bell.state.swap(WAITING, Ordering::SeqCst);
            if polled.is_ready() || before == POLLED {
                return polled;
            }
        }
        bell.task.wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever polls it, on whatever thread, sees it when that is done.
        let polled = self.state.compare_exchange(
            POLLED,
            WOKEN,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        if polled.is_err_and(|state| state == WAITING) {
            self.task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How often a future is polled that wakes itself so often before it
    /// waits, and how often its task is woken for that.
    fn polled_and_woken(own: usize) -> (usize, usize) {
        let task = Arc::new(Task(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        let mut polls = 0;
        let mut last = None;
        {
            let future = poll_fn(|cx| {
                polls += 1;
                if polls <= own {
                    cx.waker().wake_by_ref();
                }
                last = Some(cx.waker().clone());
                Poll::<()>::Pending
            });
            let mut again = Again::new(Box::pin(future));
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(&mut again).poll(&mut cx).is_pending());
        }
        let woken = task.0.load(Ordering::SeqCst);
        // Once it waits, its task is woken as ever.
        last.unwrap().wake();
        assert_eq!(task.0.load(Ordering::SeqCst), woken + 1);
        (polls, woken)
    }

    #[test]
    fn who_wakes_itself_is_polled_again_but_not_for_ever() {
        assert_eq!(polled_and_woken(0), (1, 0));
        assert_eq!(polled_and_woken(1), (2, 0));
        assert_eq!(polled_and_woken(2), (2, 1));
        assert_eq!(polled_and_woken(9), (2, 1));
    }
}
