//! Independent tasks on several threads, with results that do not depend on how many.

/// Works at tasks by number, each on the thread that is free; the results are in their order.
pub fn on_threads<T: Send>(tasks: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let place = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if place >= tasks {
                    return mine;
                }
                mine.push((place, work(place)));
            }
        };
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker does not panic")).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, one)| one).collect()
}
