//! Tests of the scheduling order.

use super::*;

const MS: u64 = 1_000_000;

fn queue() -> TaskQueue<&'static str> {
    TaskQueue::new(QueueBounds {
        waiting: 8,
        begun: 8,
        slow: 4,
        share_percent: 50,
    })
}

fn properties(lane: &str) -> TaskProperties {
    TaskProperties {
        lane: Arc::from(lane),
        digest: Digest::compute(lane.as_bytes()),
        instance: true,
    }
}

fn push(queue: &mut TaskQueue<&'static str>, lane: &str, job: &'static str) {
    queue.push(properties(lane), job).expect("room");
}

fn quick(queue: &mut TaskQueue<&'static str>) -> Option<ScheduledTask<&'static str>> {
    queue.pop(Class::Quick)
}

fn slow(queue: &mut TaskQueue<&'static str>) -> Option<ScheduledTask<&'static str>> {
    queue.pop(Class::Slow)
}

fn job(task: Option<ScheduledTask<&'static str>>) -> Option<&'static str> {
    task.map(|task| task.job)
}

fn run(queue: &mut TaskQueue<&'static str>, ran: u64) -> Option<&'static str> {
    let task = quick(queue)?;
    Some(queue.finish(task, ran).job)
}

#[test]
fn the_lane_that_used_least_is_next() {
    let mut queue = queue();
    for job in ["a1", "a2", "a3"] {
        push(&mut queue, "a", job);
    }
    for job in ["b1", "b2", "b3"] {
        push(&mut queue, "b", job);
    }
    let order: Vec<_> = std::iter::from_fn(|| {
        let next = quick(&mut queue)?;
        let ran = if next.job.starts_with('a') {
            3 * MS
        } else {
            MS
        };
        Some(queue.finish(next, ran).job)
    })
    .collect();
    assert_eq!(order, ["a1", "b1", "b2", "b3", "a2", "a3"]);
}

#[test]
fn a_new_lane_is_not_charged_for_the_past_use_of_others() {
    let mut queue = queue();
    for _ in 0..900 {
        push(&mut queue, "old", "old1");
        assert_eq!(run(&mut queue, MS), Some("old1"));
    }
    push(&mut queue, "old", "old2");
    push(&mut queue, "new", "new1");
    assert_eq!(run(&mut queue, MS), Some("new1"));
    assert_eq!(run(&mut queue, MS), Some("old2"));
}

#[test]
fn an_idle_lane_saves_up_no_time() {
    let mut queue = queue();
    push(&mut queue, "rests", "r1");
    run(&mut queue, MS);
    for _ in 0..100 {
        push(&mut queue, "busy", "b");
        run(&mut queue, MS);
    }
    push(&mut queue, "busy", "b1");
    push(&mut queue, "busy", "b2");
    push(&mut queue, "rests", "r2");
    push(&mut queue, "rests", "r3");
    let order: Vec<_> = std::iter::from_fn(|| run(&mut queue, MS)).collect();
    assert_eq!(order, ["r2", "b1", "r3", "b2"]);
}

#[test]
fn a_call_that_is_not_quick_continues_on_the_slow_threads() {
    let mut queue = queue();
    push(&mut queue, "a", "a1");
    let task = quick(&mut queue).expect("ready");
    assert!(queue.put_back(task, 5 * MS).is_none());
    let task = quick(&mut queue).expect("quick so far");
    assert!(queue.put_back(task, 5 * MS).is_none());
    assert_eq!(job(quick(&mut queue)), None);
    assert_eq!(job(slow(&mut queue)), Some("a1"));
}

#[test]
fn a_lane_with_slow_calls_starts_on_the_slow_threads_until_its_calls_are_quick_again() {
    let mut queue = queue();
    push(&mut queue, "a", "a1");
    run(&mut queue, 100 * MS);
    let mut begun_slow = 0;
    for _ in 0..40 {
        push(&mut queue, "a", "a");
        if let Some(task) = slow(&mut queue) {
            begun_slow += 1;
            queue.finish(task, MS / 10);
        } else {
            assert_eq!(run(&mut queue, MS / 10), Some("a"));
        }
    }
    assert!((1..39).contains(&begun_slow), "{begun_slow}");
}

#[test]
fn a_digest_is_charged_in_every_lane_for_time_beyond_the_ordinary() {
    let mut queue = queue();
    push(&mut queue, "a", "a1");
    run(&mut queue, 500 * MS);
    let same = TaskProperties {
        digest: Digest::compute(b"a"),
        ..properties("b")
    };
    queue.push(same, "same digest").expect("room");
    push(&mut queue, "c", "another");
    assert_eq!(run(&mut queue, MS), Some("another"));
    assert_eq!(run(&mut queue, MS), Some("same digest"));
}

#[test]
fn a_lane_begins_no_more_calls_than_its_share() {
    let mut queue = queue();
    for _ in 0..4 {
        push(&mut queue, "a", "a");
        assert!(quick(&mut queue).is_some());
    }
    push(&mut queue, "a", "one more");
    assert_eq!(job(quick(&mut queue)), None);
    push(&mut queue, "b", "b1");
    assert_eq!(job(quick(&mut queue)), Some("b1"));
}

fn make_slow(queue: &mut TaskQueue<&'static str>, lane: &str, job: &'static str, ran: u64) {
    push(queue, lane, job);
    let task = quick(queue).expect("ready");
    assert!(queue.put_back(task, ran).is_none(), "{job}");
}

#[test]
fn if_too_many_calls_are_slow_the_lane_that_used_most_gives_one_up() {
    let mut queue = queue();
    make_slow(&mut queue, "a", "a1", 50 * MS);
    make_slow(&mut queue, "a", "a2", 50 * MS);
    make_slow(&mut queue, "b", "b1", 10 * MS);
    make_slow(&mut queue, "c", "c1", 20 * MS);
    push(&mut queue, "d", "d1");
    let task = quick(&mut queue).expect("ready");
    let given_up = queue.put_back(task, 15 * MS);
    assert_eq!(job(given_up), Some("a1"));
    assert_eq!(queue.load(), (0, 4));
}

#[test]
fn a_call_of_the_lane_that_used_most_is_given_up_itself() {
    let mut queue = queue();
    for (lane, name) in [("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1")] {
        make_slow(&mut queue, lane, name, 15 * MS);
    }
    push(&mut queue, "e", "e1");
    let task = quick(&mut queue).expect("ready");
    assert_eq!(job(queue.put_back(task, 500 * MS)), Some("e1"));
    assert_eq!(queue.load(), (0, 4));
}

#[test]
fn a_full_lane_is_refused_while_another_still_has_room() {
    let mut queue = queue();
    for job in ["a1", "a2", "a3", "a4"] {
        push(&mut queue, "a", job);
    }
    assert_eq!(queue.push(properties("a"), "a5"), Err(SubmitError::Full));
    for job in ["b1", "b2", "b3", "b4"] {
        push(&mut queue, "b", job);
    }
    assert_eq!(queue.push(properties("c"), "c1"), Err(SubmitError::Full));
}

#[test]
fn a_closed_queue_returns_work_that_has_not_begun_and_finishes_the_rest() {
    let mut queue = queue();
    push(&mut queue, "a", "a1");
    let task = quick(&mut queue).expect("ready");
    push(&mut queue, "a", "a2");
    let dropped: Vec<_> = queue.close().into_iter().map(|task| task.job).collect();
    assert_eq!(dropped, ["a2"]);
    assert!(!queue.is_done());
    assert!(queue.put_back(task, MS).is_none());
    assert_eq!(queue.push(properties("a"), "a3"), Err(SubmitError::Closed));
    assert_eq!(run(&mut queue, MS), Some("a1"));
    assert!(queue.is_done());
}
