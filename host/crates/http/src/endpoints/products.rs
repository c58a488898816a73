//! `GET /products-by-name`: the workspace's products whose names are similar to a term, the
//! most similar first, in pages. A product is also found by its external id.
//!
//! `search/` determines the similarity, in memory. Names and descriptions are read from the
//! store for the page that is shown. A product that was removed meanwhile is left out of the
//! page, and the counts may be a second old.

use crate::endpoints::prelude::*;
use crate::terms::filled;
use leadhost_domain::id::ProductId;
use leadhost_pipeline::catalogue::{self, SearchError};
use leadhost_search::{SearchResults, Term, TermError};
use leadhost_store::Product;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductsPage<'a> {
    term: &'a str,
    products: Vec<ProductFound>,
    pagination: Pagination,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ProductFound {
    id: ProductId,
    /// The id that `propertyExternalId` and `productExternalId` take.
    external_id: String,
    name: String,
    description: String,
    similarity_score: f64,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    page: u64,
    size: u64,
    total_items: u64,
    total_pages: u64,
    has_next_page: bool,
    has_previous_page: bool,
}

describe!(search, |operation| {
    let number = |default: usize| json!({"type": "integer", "format": "int64", "minimum": 1, "default": default});
    let most = limits::SEARCH_PAGE_MAX;
    operation
        .id("searchProducts")
        .summary("Searches products by name")
        .describe("The search tolerates typos and differences in accents, case and word order. The most similar products come first.")
        .query("name", filled(limits::SEARCH_TERM_CHARACTERS, ""), "The search term, with at least a letter or a digit. `term` is an alias.")
        .required()
        .example("mirante")
        .alias("term")
        .query("page", number(1), "The page, counted from 1.")
        .query("size", number(limits::SEARCH_PAGE_DEFAULT), format!("Products per page. A size above {most} counts as {most}."))
        .answers::<ProductsPage<'_>>(200, "A page of products.")
        .shows("one", "A product", json!({
            "term": "mirante",
            "products": [{
                "id": "019cae2b-3f67-7d43-9b21-7e5f4a3b2c05",
                "externalId": "AP-0107",
                "name": "Apartamento Mirante da Serra",
                "description": "Dois quartos, de frente para a serra.",
                "similarityScore": 0.95,
            }],
            "pagination": {
                "page": 1,
                "size": 10,
                "totalItems": 1,
                "totalPages": 1,
                "hasNextPage": false,
                "hasPreviousPage": false,
            },
        }))
        .refuses(&[400])
});
pub async fn search(call: &Call<'_>, caller: &PartnerCaller) -> ApiResult {
    let query = call.query();
    let asked = asked(&query)?;
    let term = term(asked)?;
    let page = page(&query)?;
    let size = size(&query)?;
    let text = term.text().to_owned();
    let from = (page - 1).saturating_mul(size as u64);
    let workspace = caller.scope().workspace();
    let named = match external_ids(asked) {
        ids if ids.is_empty() => None,
        ids => {
            let store = &call.http.core.store;
            store.product_by_external_id(caller.scope(), ids).await?
        }
    };
    let pipeline = &call.http.pipeline;
    let found = catalogue::search(pipeline, workspace, term, named, (from, size)).await?;
    let ids: Vec<_> = found.page.iter().map(|hit| hit.id).collect();
    let products = if ids.is_empty() {
        Vec::new()
    } else {
        call.http.core.store.products(caller.scope(), &ids).await?
    };
    reply::ok(&ProductsPage {
        term: &text,
        products: rows(&found, products),
        pagination: pagination(page, size as u64, found.total),
    })
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Store(error) => Self::Store(error),
            SearchError::TooLarge => Self::Overloaded {
                shed: Shed::Search,
                what: "The workspace has more products than the service has memory to search; its operator can give it more memory.",
                retry_after: Duration::from_mins(1),
            },
            SearchError::Late => Self::Overloaded {
                shed: Shed::Search,
                what: "The products are being prepared for searching; try again.",
                retry_after: Duration::from_secs(5),
            },
            SearchError::Ended(error) => Self::internal(error),
        }
    }
}

fn asked<'a>(query: &'a Query<'_>) -> ApiResult<&'a str> {
    let text = query.filled(&["name", "term"]).map(str::trim);
    text.ok_or_else(|| ApiError::parameter("`name` is missing: give the name to search for."))
}

/// Returns the external ids that a term may be, in the order in which they are tried. Empty for
/// several words without a digit, which are a name.
fn external_ids(asked: &str) -> Vec<String> {
    let is_name = asked.contains(char::is_whitespace) && !asked.contains(char::is_numeric);
    if is_name || asked.contains('\0') {
        return Vec::new();
    }
    let mut ids = vec![asked.to_owned(), asked.to_uppercase(), asked.to_lowercase()];
    ids.dedup();
    ids
}

fn term(text: &str) -> ApiResult<Term> {
    Term::read(text).map_err(|error| {
        ApiError::parameter(match error {
            TermError::Empty => "`name` must contain a letter or a digit.".to_owned(),
            TermError::TooLong => format!(
                "`name` is longer than the {} characters that are searched for.",
                limits::SEARCH_TERM_CHARACTERS
            ),
        })
    })
}

/// A greater page number counts as this one: the greatest integer that JSON holds exactly for every
/// client.
const LAST_PAGE: u64 = (1 << 53) - 1;

fn page(query: &Query<'_>) -> ApiResult<u64> {
    at_least_1(query, "page").map(|page| page.unwrap_or(1).min(LAST_PAGE))
}

/// Reads a number that starts at 1. Past the greatest one that is served, it counts as that.
fn at_least_1(query: &Query<'_>, name: &str) -> ApiResult<Option<u64>> {
    match query.whole(name, "of at least 1")? {
        Some(number) if number < 1 => Err(ApiError::parameter(format!(
            "`{name}` must be a whole number of at least 1."
        ))),
        number => Ok(number.map(i64::unsigned_abs)),
    }
}

/// Reads the page size. A greater size counts as the greatest one.
fn size(query: &Query<'_>) -> ApiResult<usize> {
    let size = at_least_1(query, "size")?.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let size = size.unwrap_or(limits::SEARCH_PAGE_DEFAULT);
    Ok(size.min(limits::SEARCH_PAGE_MAX))
}

fn rows(found: &SearchResults, products: Vec<Product>) -> Vec<ProductFound> {
    let known = products.into_iter().map(|product| (product.id, product));
    let mut known: HashMap<_, _> = known.collect();
    let rows = found.page.iter().filter_map(|hit| {
        let product = known.remove(&hit.id)?;
        Some(ProductFound {
            id: product.id,
            external_id: product.external_id,
            name: product.name,
            description: product.description.unwrap_or_default(),
            similarity_score: f64::from(hit.score) / 10_000.0,
        })
    });
    rows.collect()
}

fn pagination(page: u64, size: u64, total_items: u64) -> Pagination {
    let total_pages = total_items.div_ceil(size);
    Pagination {
        page,
        size,
        total_items,
        total_pages,
        has_next_page: page < total_pages,
        has_previous_page: page > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_sizes_are_whole_numbers_from_one_on() {
        let check = |text: &str, expect_page: Option<u64>, expect_size: Option<usize>| {
            let query = format!("page={text}&size={text}");
            let query = Query::parse(&query);
            assert_eq!(page(&query).ok(), expect_page, "page {text}");
            assert_eq!(size(&query).ok(), expect_size, "size {text}");
        };
        check("1", Some(1), Some(1));
        check("100", Some(100), Some(100));
        check("1000000000000", Some(1_000_000_000_000), Some(100));
        check("99999999999999999999999", Some(LAST_PAGE), Some(100));
        check("-99999999999999999999999", None, None);
        check("", Some(1), Some(10));
        check("%2B1", Some(1), Some(1));
        for wrong in ["0", "-1", "x", "1.5", "null"] {
            check(wrong, None, None);
        }
        let nothing = Query::parse("");
        assert_eq!(page(&nothing).ok(), Some(1));
        assert_eq!(size(&nothing).ok(), Some(10));
        for missing in ["", "q=casa", "name=", "term=%20"] {
            let query = Query::parse(missing);
            let error = asked(&query).expect_err("no name");
            assert!(error.to_string().contains("`name` is missing"), "{error}");
        }
        let empty = term("--").err().expect("no term");
        assert!(
            empty.to_string().contains("must contain a letter"),
            "{empty}"
        );
    }

    #[test]
    fn a_code_may_be_an_external_id_in_another_case_and_a_name_is_none() {
        assert_eq!(external_ids("Ap-0042"), ["Ap-0042", "AP-0042", "ap-0042"]);
        assert_eq!(external_ids("AP 42"), ["AP 42", "ap 42"]);
        assert_eq!(external_ids("42"), ["42"]);
        assert_eq!(external_ids("casa na praia"), [""; 0]);
        assert_eq!(external_ids("a\0"), [""; 0]);
    }

    #[test]
    fn pagination_fits_the_page_number() {
        let check = |page, total, pages, next, previous| {
            let expect = Pagination {
                page,
                size: 10,
                total_items: total,
                total_pages: pages,
                has_next_page: next,
                has_previous_page: previous,
            };
            assert_eq!(pagination(page, 10, total), expect);
        };
        check(1, 0, 0, false, false);
        check(1, 10, 1, false, false);
        check(1, 11, 2, true, false);
        check(2, 11, 2, false, true);
        check(1_000_000_000_000, 11, 2, false, true);
    }
}
