#![allow(clippy::print_stdout, clippy::unwrap_used)]
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let mut out = leadhost_sdk::serde_json::Map::new();
    for case in leadhost_golden::load_dir(std::path::Path::new(&dir)).unwrap() {
        out.insert(
            case.name.clone(),
            leadhost_sdk::testing::answer::<converter_mapping::Mapping>(&case),
        );
    }
    println!("{}", leadhost_sdk::serde_json::Value::Object(out));
}
