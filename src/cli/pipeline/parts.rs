//! A file in parts: all threads read parts and prepare their frames. The caller hands them on in order, and prepares a part
//! itself while the next one in order is not ready.

use std::{
    collections::VecDeque,
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rdmawire::capture::{Cursor, Part, Parts};

use super::{Batch, COPIED, FEW, MOST, Preparing, Step, cores};

/// The caller is not fast enough for more threads.
const MAX_THREADS: usize = 8;

/// A waiting thread checks so often, with so many pauses in between, before it sleeps: most waits are shorter than it takes to
/// be woken.
const CHECKS: u32 = 24;
const PAUSES: u32 = 64;

/// Hands all parts to `on_step` until `stop`. Returns the position behind the last record.
pub(super) fn run(
    parts: &Parts,
    preparing: Preparing<'_>,
    threads: usize,
    stop: &AtomicBool,
    on_step: &mut impl FnMut(Step<'_>),
) -> Cursor {
    let threads = threads.min(parts.count().min(MAX_THREADS as u64) as usize);
    let shared = Shared::new(parts, preparing, threads);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| shared.work());
        }
        let _end = EndOnDrop(&shared);
        let mut own = Part::default();
        while !stop.load(Ordering::Relaxed) {
            match shared.turn() {
                Turn::Show(ready) => {
                    ready.batch.show(ready.part.bytes(), on_step);
                    on_step(Step::Progress(ready.batch.progress));
                    shared.put_back(ready);
                }
                Turn::Take { number, is_next } if shared.read(number, &mut own) => {
                    if !is_next {
                        shared.prepare(number, &mut own);
                        continue;
                    }
                    parts.for_each(&own, |record, _| on_step(Step::Frame(record, None)));
                    on_step(Step::Progress(own.end()));
                    shared.lock().shown();
                }
                Turn::Take { .. } => {}
                Turn::End => break,
            }
        }
    });
    shared.lock().cursor
}

/// A prepared part. Its bytes stay in the cache of the core that read them, unless some frames could not be prepared.
#[derive(Default)]
struct Ready {
    batch: Batch,
    part: Part,
}

/// What the caller does next.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Turn {
    Show(Ready),
    /// Take this part; `is_next` if it is the next one in order.
    Take {
        number: u64,
        is_next: bool,
    },
    End,
}

struct Shared<'a> {
    parts: &'a Parts,
    preparing: Preparing<'a>,
    /// Checks before a waiting thread sleeps.
    checks: u32,
    state: Mutex<State>,
    /// There is room for more parts.
    room: Condvar,
    /// The cursor has passed part n, modulo their number: at most one part for each thread waits for that.
    passed: Vec<Condvar>,
    /// The next part in order is ready.
    ready: Condvar,
}

/// Parts are taken, passed by the cursor, and shown, each in order. These are the numbers of the next ones.
struct State {
    taken: u64,
    passed: u64,
    shown: u64,
    /// Where part `passed` begins.
    cursor: Cursor,
    /// The cursor has passed the last record.
    is_end: bool,
    /// The caller has returned, or a thread has panicked.
    is_over: bool,
    /// Ready parts, from `shown` on.
    ready: VecDeque<Option<Ready>>,
    /// To be used again.
    empty: Vec<Ready>,
}

impl<'a> Shared<'a> {
    fn new(parts: &'a Parts, preparing: Preparing<'a>, threads: usize) -> Shared<'a> {
        let state = State {
            taken: 0,
            passed: 0,
            shown: 0,
            cursor: parts.cursor(),
            is_end: false,
            is_over: false,
            ready: VecDeque::new(),
            empty: Vec::new(),
        };
        let (state, room, ready) = (Mutex::new(state), Condvar::new(), Condvar::new());
        let passed = (0..threads).map(|_| Condvar::new()).collect();
        // With fewer cores than threads, to spin takes time from another thread.
        let checks = if threads <= cores() { CHECKS } else { 0 };
        Shared { parts, preparing, checks, state, room, passed, ready }
    }

    /// Reads and prepares parts until there are none.
    fn work(&self) {
        let end = EndOnDrop(self);
        let mut part = Part::default();
        while let Some(number) = self.take() {
            if self.read(number, &mut part) {
                self.prepare(number, &mut part);
            }
        }
        std::mem::forget(end);
    }

    /// The next part that nobody took; waits while too many are ahead of the caller.
    fn take(&self) -> Option<u64> {
        let mut state = self.lock();
        if state.ahead() >= MOST {
            state = sleep(&self.room, state, |state| state.ahead() <= FEW || state.is_over);
        }
        let is_there = !state.is_closed() && state.taken < self.parts.count();
        is_there.then(|| state.take())
    }

    /// Reads a part and moves the cursor over it; false if the records ended before it.
    fn read(&self, number: u64, part: &mut Part) -> bool {
        self.parts.read(number, part);
        let is_due = |state: &State| state.passed >= number || state.is_closed();
        let state = self.wait_until(self.passed_before(number), self.lock(), is_due);
        if state.is_closed() {
            return false;
        }
        let mut cursor = state.cursor;
        drop(state);
        let is_more = self.parts.advance(part, &mut cursor);
        let mut state = self.lock();
        (state.cursor, state.is_end) = (cursor, !is_more);
        state.passed += 1;
        match state.is_end {
            false => self.passed_before(number + 1).notify_one(),
            true => self.passed.iter().for_each(Condvar::notify_one),
        }
        true
    }

    fn prepare(&self, number: u64, part: &mut Part) {
        let mut ready = self.lock().empty.pop().unwrap_or_default();
        let batch = &mut ready.batch;
        self.parts.for_each(part, |record, at| {
            if let Some(icrc) = batch.push_known(self.preparing.prepare(record), record) {
                batch.push_at(record, COPIED, at, Some(icrc));
            }
        });
        batch.progress = part.end();
        if !batch.others.is_empty() {
            std::mem::swap(part, &mut ready.part);
        }
        let mut state = self.lock();
        let place = (number - state.shown) as usize;
        while state.ready.len() <= place {
            state.ready.push_back(None);
        }
        state.ready[place] = Some(ready);
        if place == 0 {
            self.ready.notify_one();
        }
    }

    /// What the caller does next; it waits only if nothing can be taken.
    fn turn(&self) -> Turn {
        let mut state = self.lock();
        loop {
            if state.is_done() {
                return Turn::End;
            }
            if let Some(ready) = state.ready.front_mut().and_then(Option::take) {
                state.shown();
                if state.ahead() == FEW {
                    self.room.notify_all();
                }
                return Turn::Show(ready);
            }
            if !state.is_end && state.taken < self.parts.count() && state.ahead() < MOST {
                let number = state.take();
                return Turn::Take { number, is_next: number == state.shown };
            }
            state = self.wait_until(&self.ready, state, |state| state.is_done() || state.is_ready());
        }
    }

    /// Waits until `is_due`: awake at first, then asleep.
    fn wait_until<'b>(
        &'b self,
        change: &Condvar,
        mut state: MutexGuard<'b, State>,
        is_due: impl Fn(&State) -> bool,
    ) -> MutexGuard<'b, State> {
        for _ in 0..self.checks {
            if is_due(&state) {
                return state;
            }
            drop(state);
            (0..PAUSES).for_each(|_| spin_loop());
            state = self.lock();
        }
        sleep(change, state, is_due)
    }

    fn put_back(&self, mut ready: Ready) {
        ready.batch.clear();
        self.lock().empty.push(ready);
    }

    fn passed_before(&self, number: u64) -> &Condvar {
        &self.passed[number as usize % self.passed.len()]
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sleep<'a>(
    change: &Condvar,
    state: MutexGuard<'a, State>,
    is_due: impl Fn(&State) -> bool,
) -> MutexGuard<'a, State> {
    change.wait_while(state, |state| !is_due(state)).unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// No more parts are to be taken.
    fn is_closed(&self) -> bool {
        self.is_end || self.is_over
    }

    /// No more parts are to be shown.
    fn is_done(&self) -> bool {
        self.is_over || self.is_end && self.shown == self.passed
    }

    /// The next part to be shown can be.
    fn is_ready(&self) -> bool {
        self.ready.front().is_some_and(Option::is_some)
    }

    /// Parts taken and not shown.
    fn ahead(&self) -> usize {
        (self.taken - self.shown) as usize
    }

    fn take(&mut self) -> u64 {
        self.taken += 1;
        self.taken - 1
    }

    fn shown(&mut self) {
        self.shown += 1;
        self.ready.pop_front();
    }
}

/// Ends the other threads when the caller returns or one of them panics.
struct EndOnDrop<'a>(&'a Shared<'a>);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        let others = [&self.0.room, &self.0.ready];
        self.0.passed.iter().chain(others).for_each(Condvar::notify_all);
    }
}
