//! A file in parts: all threads read parts of it and prepare what is in them; the caller shows them in their order, and
//! takes a part itself when the next one to be shown is not ready.

use std::{
    collections::VecDeque,
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rdmawire::capture::{Part, Parts, Walk};

use super::{Batch, COPIED, FEW, MOST, Preparing, Step, cores};

/// More threads than these have nothing to do: the caller is not that fast. Nor have more than there are parts.
const MAX_THREADS: usize = 8;

/// A thread that waits looks so often, and pauses so often in between, before it sleeps: for some 20 µs. Most waits are
/// shorter, and to be woken takes longer: with parts of 128 KiB, two threads took 3 % more time for full frames.
const LOOKS: u32 = 24;
const PAUSES: u32 = 64;

/// Shows all parts to `see`, unless `stop` says otherwise, and tells how far they went.
pub(super) fn run(
    parts: &Parts,
    preparing: Preparing<'_>,
    threads: usize,
    stop: &AtomicBool,
    see: &mut impl FnMut(Step<'_>),
) -> Walk {
    let threads = threads.min(parts.count().min(MAX_THREADS as u64) as usize);
    let shared = Shared::new(parts, preparing, threads);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| shared.work());
        }
        let _gone = Gone(&shared);
        let mut own = Part::default();
        while !stop.load(Ordering::Relaxed) {
            match shared.turn() {
                Turn::Show(ready) => {
                    ready.batch.show(ready.part.bytes(), see);
                    see(Step::Progress(ready.batch.progress));
                    shared.put_back(ready);
                }
                Turn::Take { number, is_next } if shared.read(number, &mut own) => {
                    if !is_next {
                        shared.prepare(number, &mut own);
                        continue;
                    }
                    parts.show(&own, |record, _| see(Step::Frame(record, None)));
                    see(Step::Progress(own.end()));
                    shared.lock().shown();
                }
                Turn::Take { .. } => {}
                Turn::End => break,
            }
        }
    });
    shared.lock().walk
}

/// What is prepared of a part. The part itself stays where it was read, and in that core's cache, unless some of its frames
/// could not be prepared.
#[derive(Default)]
struct Ready {
    batch: Batch,
    part: Part,
}

/// What the caller does next.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Turn {
    Show(Ready),
    /// Take this part; whether it is the next to be shown.
    Take {
        number: u64,
        is_next: bool,
    },
    End,
}

struct Shared<'a> {
    parts: &'a Parts,
    preparing: Preparing<'a>,
    /// How often a thread looks before it sleeps.
    looks: u32,
    state: Mutex<State>,
    /// Fewer parts wait.
    room: Condvar,
    /// The part before that of a thread was walked: those that are not are as many as threads at most, and one after the
    /// other.
    walked: Vec<Condvar>,
    /// The next one can be shown.
    ready: Condvar,
}

/// Parts are taken, walked and shown in their order.
struct State {
    taken: u64,
    walked: u64,
    shown: u64,
    /// Up to part `walked`.
    walk: Walk,
    /// No records are there.
    is_end: bool,
    /// The caller is gone, or another thread.
    is_over: bool,
    /// Those ready, from `shown` on.
    ready: VecDeque<Option<Ready>>,
    /// Some to be used again.
    empty: Vec<Ready>,
}

impl<'a> Shared<'a> {
    fn new(parts: &'a Parts, preparing: Preparing<'a>, threads: usize) -> Shared<'a> {
        let state = State {
            taken: 0,
            walked: 0,
            shown: 0,
            walk: parts.start(),
            is_end: false,
            is_over: false,
            ready: VecDeque::new(),
            empty: Vec::new(),
        };
        let (state, room, ready) = (Mutex::new(state), Condvar::new(), Condvar::new());
        let walked = (0..threads).map(|_| Condvar::new()).collect();
        // Who looks takes the time of another where there are fewer cores.
        let looks = if threads <= cores() { LOOKS } else { 0 };
        Shared { parts, preparing, looks, state, room, walked, ready }
    }

    /// Takes parts until there are none.
    fn work(&self) {
        let gone = Gone(self);
        let mut part = Part::default();
        while let Some(number) = self.take() {
            if self.read(number, &mut part) {
                self.prepare(number, &mut part);
            }
        }
        std::mem::forget(gone);
    }

    /// The next part that nobody took; waits while there are enough.
    fn take(&self) -> Option<u64> {
        let mut state = self.lock();
        if state.ahead() >= MOST {
            state = sleep(&self.room, state, |state| state.ahead() <= FEW || state.is_over);
        }
        let is_there = !state.is_closed() && state.taken < self.parts.count();
        is_there.then(|| state.take())
    }

    /// Reads a part and steps through it; false if no records begin in it or behind it.
    fn read(&self, number: u64, part: &mut Part) -> bool {
        self.parts.read(number, part);
        let is_due = |state: &State| state.walked >= number || state.is_closed();
        let state = self.wait_until(self.walked_before(number), self.lock(), is_due);
        if state.is_closed() {
            return false;
        }
        let mut walk = state.walk;
        drop(state);
        let is_more = self.parts.walk(part, &mut walk);
        let mut state = self.lock();
        (state.walk, state.is_end) = (walk, !is_more);
        state.walked += 1;
        match state.is_end {
            false => self.walked_before(number + 1).notify_one(),
            true => self.walked.iter().for_each(Condvar::notify_one),
        }
        true
    }

    fn prepare(&self, number: u64, part: &mut Part) {
        let mut ready = self.lock().empty.pop().unwrap_or_default();
        let batch = &mut ready.batch;
        self.parts.show(part, |record, at| {
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

    /// Waits for what mostly comes at once, and so at first awake.
    fn wait_until<'b>(
        &'b self,
        change: &Condvar,
        mut state: MutexGuard<'b, State>,
        is_due: impl Fn(&State) -> bool,
    ) -> MutexGuard<'b, State> {
        for _ in 0..self.looks {
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

    fn walked_before(&self, number: u64) -> &Condvar {
        &self.walked[number as usize % self.walked.len()]
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
        self.is_over || self.is_end && self.shown == self.walked
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

/// Lets the others end when the caller goes, or one of them by a panic.
struct Gone<'a>(&'a Shared<'a>);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        let others = [&self.0.room, &self.0.ready];
        self.0.walked.iter().chain(others).for_each(Condvar::notify_all);
    }
}
