//! Compares the index with the reference implementation, over random names, terms and
//! changes; and checks typical searches.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::*;
use leadhost_domain::id::ProductId;

fn id(number: u64) -> ProductId {
    ProductId(Uuid::from_u64_pair(
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        number,
    ))
}

fn index(products: &[(ProductId, String)]) -> Index {
    let mut builder = IndexBuilder::default();
    for (id, name) in products {
        builder.set(*id, Some(name));
    }
    builder.build()
}

fn all(index: &Index, term: &str) -> Vec<(ProductId, u32)> {
    let term = Term::read(term).expect("a term");
    let found = index.search(&term, None, 0, usize::MAX);
    assert_eq!(found.total, found.page.len() as u64);
    found.page.iter().map(|hit| (hit.id, hit.score)).collect()
}

/// Returns the found names, best first, with their scores.
fn found<'a>(names: &[&'a str], term: &str) -> Vec<(&'a str, u32)> {
    let products: Vec<_> = (0..)
        .zip(names)
        .map(|(number, name)| (id(number), (*name).to_owned()))
        .collect();
    let hits = all(&index(&products), term);
    let at = |wanted| products.iter().position(|(id, _)| *id == wanted);
    hits.into_iter()
        .map(|(id, score)| (names[at(id).expect("one of them")], score))
        .collect()
}

#[test]
fn a_name_is_found_however_it_is_written() {
    let names = ["Apartamento São João", "Casa na praia", "Cobertura Ipê"];
    let check =
        |term: &str, expect: &[(&str, u32)]| assert_eq!(found(&names, term), expect, "{term}");
    for term in [
        "APARTAMENTO SAO JOAO",
        "joão são apartamento",
        "apartamento-sa\u{303}o, joa\u{303}o",
    ] {
        check(term, &[("Apartamento São João", 10_000)]);
    }
    // A letter missing, added or wrong, two swapped; the first and the last letter.
    for term in [
        "apartmento",
        "aparttamento",
        "apartanento",
        "aparatmento",
        "partamento",
        "apartament0",
    ] {
        let digit = term.contains('0');
        let expect: &[_] = if digit {
            &[]
        } else {
            &[("Apartamento São João", 0)]
        };
        let names: Vec<_> = found(&names, term)
            .into_iter()
            .map(|(name, _)| (name, 0))
            .collect();
        assert_eq!(names, expect, "{term}");
    }
    check("prai", &[("Casa na praia", 8_750)]);
    check("cobertrua ipe", &[("Cobertura Ipê", 9_167)]);
    check("xyz", &[]);
}

#[test]
fn joined_and_split_words_match_and_numbers_match_by_value() {
    let names = [
        "Residencial Vista Mar",
        "Vistamar",
        "Torre 7",
        "Torre 007",
        "Torre 70",
    ];
    let check = |term: &str, expect: &[&str]| {
        let found: Vec<_> = found(&names, term)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found, expect, "{term}");
    };
    check("vistamar", &["Vistamar", "Residencial Vista Mar"]);
    check("vista mar", &["Residencial Vista Mar", "Vistamar"]);
    check("torre 7", &["Torre 007", "Torre 7", "Torre 70"]);
    check("torre 07", &["Torre 007", "Torre 7", "Torre 70"]);
    check("torre7", &["Torre 7"]);
    // Words of two letters are in every other name.
    assert_eq!(found(&["de la"], "dela"), []);
}

#[test]
fn typical_terms_of_a_small_catalogue_find_its_products() {
    let names = [
        "Apartamento Vista Mar, 2 quartos",
        "Casa Jardim das Acácias",
        "Lote Serra Azul, 300 m²",
        "Loja 2q de esquina",
    ];
    let check = |term: &str, expect: Option<usize>| {
        let found = found(&names, term);
        let first = found.first().map(|(name, _)| *name);
        assert_eq!(first, expect.map(|at| names[at]), "{term}");
        assert!(
            found.len() < 2 || found[0].1 > found[1].1,
            "{term}: {found:?}"
        );
    };
    for term in [
        "lote 300m2",
        "lote 300 m2",
        "lote 300m²",
        "300m2",
        "300m² serra",
    ] {
        check(term, Some(2));
    }
    for term in [
        "apart vis",
        "apartamento vis",
        "vist apart",
        "apart. 2quartos",
        "residencial vista mar",
        "apartamento de frente para o mar",
    ] {
        check(term, Some(0));
    }
    for term in [
        "casa em condominio",
        "condominio acacias",
        "condomínio acácia",
        "casa com jardim",
        "jardim de acacias",
    ] {
        check(term, Some(1));
    }
    check("2q", Some(3));
    check("loja na esquina", Some(3));
    // Nothing but stop words, a short beginning, or another number is alike.
    for term in [
        "sobrado de esq",
        "lof xyz",
        "lote 400m2 em condominio fechado de alto padrao 1",
    ] {
        let found = found(&names, term);
        assert!(found.len() <= 1, "{term}: {found:?}");
    }
    assert_eq!(found(&names, "sobrado das"), []);
    assert_eq!(found(&names, "das"), [("Casa Jardim das Acácias", 10_000)]);
    // A word that another name has is missed.
    let more = ["Condomínio Ipê", names[1]];
    assert_eq!(found(&more, "condominio acacias"), [(more[0], 5_882)]);
}

#[test]
fn a_named_product_is_found_once_and_matches_the_whole_term() {
    let products = [(id(1), "casa azul".to_owned()), (id(2), "lote".to_owned())];
    let index = index(&products);
    let changed = index.changed([(id(3), Some("loja")), (id(2), None)]);
    let check = |index: &Index, term: &str, named: u64, expect: &[(u64, u32)]| {
        let term = Term::read(term).expect("a term");
        let found = index.search(&term, Some(id(named)), 0, 9);
        let hits = found.page.iter().map(|hit| (hit.id, hit.score));
        let expect: Vec<_> = expect
            .iter()
            .map(|&(hit, score)| (id(hit), score))
            .collect();
        assert_eq!(hits.collect::<Vec<_>>(), expect);
        assert_eq!(found.total, expect.len() as u64);
    };
    check(&index, "x-1", 1, &[(1, 10_000)]);
    check(&index, "casa", 1, &[(1, 10_000)]);
    check(&index, "casa", 2, &[(2, 10_000), (1, 10_000)]);
    check(&index, "x-1", 9, &[]);
    check(&changed, "x-1", 3, &[(3, 10_000)]);
    check(&changed, "x-1", 2, &[]);
}

#[test]
fn equal_scores_go_by_words_then_name_then_id() {
    let names = ["casa b", "casa", "casa a", "casa a b", "casa a"];
    let expect = [
        ("casa", 10_000),
        ("casa a", 10_000),
        ("casa a", 10_000),
        ("casa b", 10_000),
        ("casa a b", 10_000),
    ];
    assert_eq!(found(&names, "casa"), expect);
}

/// Pseudo-random numbers, the same in every run.
struct TextGenerator(u64);

impl TextGenerator {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn word(&mut self) -> String {
        const WORDS: [&str; 29] = [
            "vista",
            "mar",
            "vistamar",
            "casa304",
            "0304",
            "casa",
            "casas",
            "caza",
            "apartamento",
            "apartamentos",
            "de",
            "da",
            "do",
            "a",
            "e",
            "304",
            "3040",
            "2q",
            "praia",
            "prai",
            "jardim",
            "jardins",
            "São",
            "Ipê",
            "cobertura",
            "דירה",
            "🏠",
            "ab",
            "aba",
        ];
        let mut word: Vec<char> = self.pick(&WORDS).chars().collect();
        if self.below(4) == 0 {
            let (at, middle) = (self.below(word.len()), word.len() / 2);
            match self.below(4) {
                0 => drop(word.remove(at)),
                1 => word.insert(at, *self.pick(&['a', 'e', 'x', '7'])),
                2 => word[at] = *self.pick(&['a', 'é', 'z']),
                _ => word.swap(at, middle),
            }
        }
        word.into_iter().collect()
    }

    fn text(&mut self, words: usize) -> String {
        let count = self.below(words + 1);
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(*self.pick(&[" ", "-", "  "]))
    }
}

fn check_all(index: &Index, products: &[(ProductId, String)], generator: &mut TextGenerator) {
    for _ in 0..12 {
        let text = generator.text(11);
        let Ok(term) = Term::read(&text) else {
            continue;
        };
        let expect = oracle::search(products, &text);
        assert_eq!(all(index, &text), expect, "{text}");
        // Any page is the corresponding part of the result.
        let (from, count) = (generator.below(expect.len() + 3), generator.below(7));
        let page = index.search(&term, None, from as u64, count);
        assert_eq!(page.total, expect.len() as u64);
        let hits: Vec<_> = page.page.iter().map(|hit| (hit.id, hit.score)).collect();
        let part: Vec<_> = expect.iter().skip(from).take(count).copied().collect();
        assert_eq!(hits, part, "{text} from {from}, {count}");
    }
}

#[test]
fn the_index_matches_the_reference_after_any_changes() {
    for seed in 0..16 {
        let generator = &mut TextGenerator(seed);
        let mut products: BTreeMap<_, _> = (0..generator.below(120) as u64)
            .map(|number| (id(number), generator.text(7)))
            .collect();
        let list = |products: &BTreeMap<_, _>| {
            let list = products
                .iter()
                .map(|(id, name): (&ProductId, &String)| (*id, name.clone()));
            list.collect::<Vec<_>>()
        };
        let mut index = index(&list(&products));
        check_all(&index, &list(&products), generator);
        for _ in 0..4 {
            let changes: Vec<_> = (0..generator.below(20))
                .map(|_| {
                    let id = id(generator.below(160) as u64);
                    (id, (generator.below(4) > 0).then(|| generator.text(7)))
                })
                .collect();
            for (id, name) in &changes {
                match name {
                    Some(name) => products.insert(*id, name.clone()),
                    None => products.remove(id),
                };
            }
            index = index.changed(changes.iter().map(|(id, name)| (*id, name.as_deref())));
            check_all(&index, &list(&products), generator);
            let with_words = products.values().filter(|name| !fold(name).is_empty());
            assert_eq!(index.count(), with_words.count());
        }
        let rebuilt = index.rebuilt();
        check_all(&rebuilt, &list(&products), generator);
        assert_eq!(rebuilt.count(), index.count());
    }
}

#[test]
fn repeated_names_add_no_changes() {
    let names: Vec<_> = (0..5_000)
        .map(|number| (id(number), format!("casa {number}")))
        .collect();
    let index = index(&names);
    let again = index.changed(names.iter().map(|(id, name)| (*id, Some(name.as_str()))));
    assert!(!again.is_worn());
    assert_eq!(again.bytes(), index.bytes());
    let renamed = index.changed(names.iter().map(|(id, _)| (*id, Some("lote"))));
    assert!(renamed.is_worn());
    assert!(!renamed.rebuilt().is_worn());
    assert_eq!(all(&renamed, "lote").len(), names.len());
}

#[test]
fn the_last_name_of_a_product_wins_while_names_are_gathered() {
    let mut builder = IndexBuilder::default();
    for name in [Some("casa azul"), None, Some("casa verde"), Some("lote")] {
        builder.set(id(1), name);
        builder.set(id(2), name.filter(|name| *name != "lote"));
    }
    let index = builder.build();
    assert_eq!(all(&index, "casa"), []);
    assert_eq!(all(&index, "lote"), [(id(1), 10_000)]);
    assert_eq!(index.count(), 1);
}

#[test]
fn a_name_of_ten_thousand_letters_and_an_empty_index_can_be_searched() {
    let long = "palavra ".repeat(1_250);
    assert_eq!(found(&[&long, "palavra"], "palavra").len(), 2);
    assert_eq!(
        found(&["a".repeat(10_000).as_str()], "aaaaaaaa"),
        [("a".repeat(10_000).as_str(), 9_375)]
    );
    assert_eq!(found(&[], "casa"), []);
}
