//! Tests of `src/capture/window.rs`.

use super::*;

#[test]
fn bytes_lie_as_in_the_systems_pages() {
    let len = 400_000;
    let file: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
    let mut input = Input::new(Box::new(Plain(io::Cursor::new(file))), 0, Some(len));
    let mut at = 0;
    for (step, holds) in (0..).map(|n| (1_000 + n % 777, n % 40 == 0)) {
        let held = holds.then(|| input.buffer().clone());
        if !input.fill(2_000).unwrap() {
            break;
        }
        let rest = input.rest();
        assert_eq!(
            (input.offset(), rest[0], rest[1_999]),
            (at, (at % 251) as u8, ((at + 1_999) % 251) as u8)
        );
        assert_eq!(rest.as_ptr().addr() % PAGE, at as usize % PAGE);
        drop(held);
        input.pos += step;
        at += step as u64;
    }
    assert!(at > len - 2_000 && input.bytes_read() == len, "{at}");
}
